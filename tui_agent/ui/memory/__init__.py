"""The memory sidebar: what is remembered, what waits to be, and what a person does about it."""
