"""Multiple kernel learning: weighted kernel, loss, regularizer and feasible set make a problem."""
