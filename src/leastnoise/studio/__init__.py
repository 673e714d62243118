"""The way from a table to a published page, in a browser on this machine.

Every step before the release is made of public facts: names and types of columns, keys, limits, and what the noise will
be. What was chosen is kept in a job's file, which `leastnoise run` runs too.
"""
