"""A job in a file, and one run of it: what `leastnoise run` and the studio share."""
