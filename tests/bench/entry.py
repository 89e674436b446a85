"""What the scratchpads of both servers hold: one small result."""

TOOL = "search_documents"
TEXT = "A small result of a search: a title, a path and a sentence about what was found there. " * 4
TIMESTAMP = "2026-01-01T00:00:00Z"
