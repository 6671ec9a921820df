"""Hold the conversation's course."""
