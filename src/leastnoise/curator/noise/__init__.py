"""Exact draws of noise on an integer grid, and nothing else.

entropy.py       random words, from the operating system only
lazy_uniform.py  a uniform number known to its first bits, and decisions in balls that read more of them
inverse_cdf.py   |K| = floor(scale * X + offset) for thousands of draws: a proved interval, else lazy_uniform.py
gaussian.py      the rounded Gaussian, and its tail
laplace.py       the two-sided geometric
sparse.py        rounded Gaussian noise on a huge domain, thresholded, without visiting the empty bins

Every scale is in grid steps. No function here but `sparse_gaussian` takes data, so no draw, no error and no
duration can depend on it.
"""
