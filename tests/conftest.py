"""Makes ``tests/`` importable, so that every test reaches the slow twins in ``reference``."""
