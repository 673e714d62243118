"""Wavelets at every shift, and a prior for the coefficients of a level."""
