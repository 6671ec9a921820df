"""What is sent."""
