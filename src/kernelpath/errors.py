"""The errors a user can cause, each with a sentence that says what to do."""


class KernelPathError(Exception):
    """Base of the errors that the package raises on purpose."""


class DataError(KernelPathError, ValueError):
    """The table or the target cannot be used as it is."""


class PathFileError(KernelPathError, ValueError):
    """A saved path is damaged, altered or of a newer format."""
