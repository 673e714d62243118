"""The way from a table to a published page, in the browser."""
