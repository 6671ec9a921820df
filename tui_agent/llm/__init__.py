"""Who is asked."""
