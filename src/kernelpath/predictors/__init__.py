"""Models at the points of a path: kernel machines of this package, and any estimator."""
