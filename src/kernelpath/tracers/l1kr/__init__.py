"""The path of L1KR: a curve of feature weights inside one kernel, followed through every turn."""
