"""What is remembered beyond a conversation: proposed by the model, decided by the person, shared by all sessions."""
