"""Theory: the papers' bounds and exact computations as plain functions, one module or folder a
paper; no training code.
"""
