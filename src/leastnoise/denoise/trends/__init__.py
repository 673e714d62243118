"""Graph trend filtering in parts: exact total variation, splitting for higher orders, degrees of freedom, the path."""
