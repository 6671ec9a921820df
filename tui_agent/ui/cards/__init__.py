"""Cards: what waits for an answer."""
