"""The folder worked in: which one it is, its files as git lists them, what lies inside, what of it was read."""
