"""Theory: bounds and exact computations of the papers as plain functions, one folder per paper,
without training code.
"""
