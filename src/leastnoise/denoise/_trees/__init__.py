"""Compiled loops on trees and chains: spanning trees, total variation, wavelets."""
