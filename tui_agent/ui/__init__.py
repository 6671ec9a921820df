"""The screen; Textual and Rich live here only."""
