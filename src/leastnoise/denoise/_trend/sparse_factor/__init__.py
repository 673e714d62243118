"""A sparse LDL factor with a small block for every node: order of elimination, loops, vector registers."""
