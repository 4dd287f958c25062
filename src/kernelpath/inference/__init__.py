"""How far a selection can be trusted: stability selection, and the knockoff filter."""
