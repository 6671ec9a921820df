"""What can be asked of a session, by subject."""
