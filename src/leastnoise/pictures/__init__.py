"""Pictures of what was published, each made once and drawn by two: `svg` on pages, `figure` by matplotlib.

picture             marks, axes, shades, and the words beside them
palette             the colours of every page and picture
svg figure          the two that draw
tables              a table of numbers, as pages and pictures show it
values              its pictures: bars, dots, lines, heat maps; tables of a set
maps places         graphs, zones and lattices
guarantees          what a guarantee leaves an attacker, and its privacy profile
cumulative budgets  sums along a column; what was spent
choices trees       how a mechanism, a denoiser or limits were chosen; tables along a tree
"""
