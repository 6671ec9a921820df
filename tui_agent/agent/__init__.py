"""One conversation at work."""
