"""Sums over the rings around each node, and the spectrum of a Laplacian."""
