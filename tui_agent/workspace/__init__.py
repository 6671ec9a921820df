"""The folder worked in."""
