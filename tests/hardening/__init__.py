"""What an outsider does to break the package: short in the tests, long by ``make harden``."""
