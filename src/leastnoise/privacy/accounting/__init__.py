"""The proved accountant: what many releases of different kinds promise together, bracketed from above and below."""
