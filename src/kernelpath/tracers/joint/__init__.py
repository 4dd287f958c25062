"""Features judged together: one kernel of all of them, and the loss of rows that are left out.

`columns` holds features as points in space, `kernels` the joint kernels, `held_out` the losses and
their gradients for any kernel matrix; `leave_one_out` puts them together, `trace` walks.
"""
