"""The transcript: one line-API view."""
