"""A correct GPT, written to be read from top to bottom.

Read in the order of the course: attention (days 43-45), normalization (46), feedforward (47),
block (46-47), positions and model (48), data and loss (49), then sampling, training and ledger.

The package imports its own modules relatively, never by the name ``reference``: a changed module
laid over this folder must reach every module that uses it.
"""
