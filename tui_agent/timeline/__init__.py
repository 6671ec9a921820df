"""Travel in the conversation."""
