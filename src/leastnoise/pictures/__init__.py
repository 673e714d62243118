"""Pictures of what was published, each made once and drawn by two: `svg` on pages, `figure` by matplotlib.

picture                     marks, axes, shades, and the words beside them
palette                     the colours of every page and picture
svg figure                  the two that draw
values tables maps          bars, lines, dots of quantiles; tables of a set; graphs, zones and lattices
guarantees                  what a guarantee leaves an attacker, and its privacy profile
limits cumulative budgets   proposed limits; sums along a column; what was spent
choices trees               how a denoiser or a mechanism was chosen; tables along a tree
"""
