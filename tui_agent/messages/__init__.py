"""The Messages API in values: blocks, pairs, validity, the request, and what it weighs."""
