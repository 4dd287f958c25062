"""Pictures and pages of paths; reads paths only."""
