"""Graph trend filtering in parts: exact total variation, an interior point for higher orders, degrees of freedom, the path."""
