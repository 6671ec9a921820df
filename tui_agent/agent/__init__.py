"""One conversation at work: the session, its turns, the model's replies, tool calls, and what waits for a person."""
