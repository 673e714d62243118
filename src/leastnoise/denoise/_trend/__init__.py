"""Graph trend filtering in parts: exact total variation, an interior point for orders 1 and 2, degrees of freedom."""
