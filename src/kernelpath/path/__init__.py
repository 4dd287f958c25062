"""FeaturePath, the central object: its points and events, and its file."""
