"""The path of Generalized lp-KTA, over the exponent p from 2 to 1."""
