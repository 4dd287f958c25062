"""Pictures of a path and its scores, one class each, with matplotlib."""
