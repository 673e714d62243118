"""Draws from a posterior."""
