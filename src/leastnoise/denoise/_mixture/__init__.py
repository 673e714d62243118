"""The weights of a mixture: a quadratic programme on the simplex."""
