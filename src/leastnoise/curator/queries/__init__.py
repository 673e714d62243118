"""The questions that can be asked of a table, one file a kind.

Each kind has its integers, its sensitivity under its limits, its description, what to expect of its release, and how
noisy integers become that release.
"""
