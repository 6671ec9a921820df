"""The log: context.jsonl and all that is read from it."""
