"""The door: the command line."""
