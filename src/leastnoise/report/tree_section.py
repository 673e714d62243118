"""Tables along a tree as an indented list: every node with its count, its interval, and its share of what it is in.

It is plain HTML that opens and closes by itself, so it needs no script and prints.
"""

from __future__ import annotations

from html import escape

import numpy as np

from leastnoise.releases.crosstab_estimate import CrosstabsEstimate
from leastnoise.releases.crosstabs import CrosstabsRelease
from leastnoise.report.contents import decimals
from leastnoise.report.tables_data import label
from leastnoise.workload import TreeWorkload

MAX_NODES = 6_000


def tree_section(of: CrosstabsRelease, estimate: CrosstabsEstimate | None) -> str:
    """The section; nothing for tables without a tree."""
    workload = of.workload
    if not isinstance(workload, TreeWorkload):
        return ""
    return _Section(of, estimate, workload).text


class _Section:
    def __init__(self, of: CrosstabsRelease, estimate: CrosstabsEstimate | None, workload: TreeWorkload) -> None:
        self.axes = of.axes
        sizes = np.cumsum(workload.shape.sizes)
        self.depth = max(level for level in range(workload.deepest[()] + 1) if level <= 1 or sizes[level] <= MAX_NODES)
        self.names = workload.levels[: self.depth]
        tables = [workload.at_level((), level) for level in range(self.depth + 1)]
        self.values = [np.asarray(of[table].values, dtype=float) for table in tables]
        self.halves = [
            np.ravel(np.broadcast_to(of.errors.sum_half_widths(table, confidence=0.95), self.values[i].shape))
            for i, table in enumerate(tables)
        ]
        beside = [] if estimate is None else [estimate[table] for table in tables]
        # Levels whose denoised numbers are not better beyond chance have none beside.
        self.denoised = [None if one.better_than_raw is False else np.asarray(one.values, float) for one in beside]
        self.starts, self.children = workload.shape.starts, workload.shape.children
        self.left = workload.deepest[()] - self.depth

    @property
    def text(self) -> str:
        more = f" {self.left} finer levels are in the tables above." if self.left else ""
        beside = self._beside_in_words()
        return (
            '<section aria-labelledby="tree"><h2 id="tree">'
            f"{escape(' › '.join(self.names))}, level by level</h2>"
            f"<p>Every published number with its 95 % interval{beside}. A bar is the share that a row has of the row "
            f"it is in. Levels add up.{more}</p>"
            f'<div class="tree">{self._row(0, 0, "All", 1.0)}{self._family(0, 0)}</div></section>'
        )

    def _beside_in_words(self) -> str:
        shown = [values is not None for values in self.denoised]
        if not any(shown):
            return ""
        return ", and the denoised one beside it" + ("" if all(shown) else " where it is better beyond chance")

    def _family(self, level: int, node: int) -> str:
        if level == self.depth:
            return ""
        start, count = int(self.starts[level][node]), int(self.children[level][node])
        whole = max(float(self.values[level][node]), 1e-300)
        axis = self.axes[self.names[level]]
        made = []
        for child in range(start, start + count):
            share = float(self.values[level + 1][child]) / whole
            row = self._row(level + 1, child, label(axis.key(child)), share)
            below = self._family(level + 1, child)
            made.append(f"<details><summary>{row}</summary>{below}</details>" if below else row)
        return f'<div class="branch">{"".join(made)}</div>'

    def _row(self, level: int, node: int, name: str, share: float) -> str:
        value, half = float(self.values[level][node]), float(self.halves[level][node])
        digits = max(0, decimals(half) - 1)
        better = self.denoised[level] if self.denoised else None
        beside = "" if better is None else f" <b>{better[node]:,.{digits}f}</b>"
        wide = 100 * min(1.0, max(0.0, share))
        return (
            f'<span class="node"><span class="name">{escape(name)}</span>'
            f'<span class="share"><i style="width:{wide:.3g}%"></i></span>'
            f'<span class="count">{value:,.{digits}f} ± {half:,.{digits}f}{beside}</span></span>'
        )
