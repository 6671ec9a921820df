"""The chat: transcript, composer, queue, status."""
