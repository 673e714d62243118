"""The nonparametric maximum-likelihood prior: the lattice, the kernels, the interior point, degrees of freedom."""
