"""What can be asked of a session, by subject: each module adds its commands to the one list."""
