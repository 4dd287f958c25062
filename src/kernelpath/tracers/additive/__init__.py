"""The path of a group lasso over factors of the kernels of single features."""
