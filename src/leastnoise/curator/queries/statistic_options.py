"""The statistics that were asked for, checked before any row is read: their columns, clips, conditions and weights."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leastnoise import stats
from leastnoise.curator import description, expressions
from leastnoise.curator.dataset import Dataset
from leastnoise.curator.rows.clipping import Clip, grid_step, rounded_end
from leastnoise.curator.rows.totals import Integers
from leastnoise.errors import Code, InvalidParameter, LeastnoiseError, MissingParameter, WrongType
from leastnoise.privacy.unit_cost import Component
from leastnoise.releases.columns import RESERVED
from leastnoise.releases.left_out import LeftOut
from leastnoise.releases.measured import (
    COUNTED,
    FIGURE_KINDS,
    ROWS,
    Figure,
    FigureKind,
    Measured,
    paired_name,
    part_name,
)

MAX_STATISTICS = 64
_INT64_SAFE = 2**60  # four times this is within 64 bits
MAX_SPAN = 2**30  # of a clip in steps of its grid, so that squares and sums of billions of rows fit into 64 bits
_EXAMPLE = Code("flights=ln.stats.count()", "--stat flights=count")
# Arguments that others take: here a name that is no argument is that of a statistic.
_ELSEWHERE = {
    "others": "histogram",
    **dict.fromkeys(("levels", "bins", "intervals", "expected_rows"), "quantile"),
    **dict.fromkeys(("ways", "cumulative", "ranges", "row_weight", "weight", "weight_clip", "other"), "crosstabs"),
    **dict.fromkeys(("epsilon", "delta", "sigma", "mechanism", "budget", "share", "note"), "release()"),
    **dict.fromkeys(("clip", "grid"), "each statistic"),
}


@dataclass(frozen=True, slots=True)
class Asked:
    """The statistics, and the columns of values they are of; `data` has a column for each condition."""

    data: Dataset
    figures: tuple[Figure, ...]
    names: tuple[str, ...]  # of the columns in the data
    clips: tuple[Clip, ...]
    columns: tuple[Measured, ...]
    conditions: frozenset[int] = frozenset()  # which of them are true or false

    @property
    def valued(self) -> bool:
        """Whether rows without a value are left out: where all statistics are of the same rows, those with a value in
        every column."""
        return len(self.columns) > 0 and all(len(figure.places) == len(self.columns) for figure in self.figures)

    @property
    def pairs(self) -> tuple[tuple[int, int], ...]:
        """The columns of each ratio, the earlier one first."""
        found = [figure.places for figure in self.figures if figure.over is not None]
        return tuple(dict.fromkeys((min(places), max(places)) for places in found))

    @property
    def parts(self) -> tuple[Component, ...]:
        """The noisy whole numbers that the statistics are computed from, each once."""
        found = {}
        for figure in self.figures:
            for part in self._parts_of(figure):
                found[part.name] = part
        return tuple(found.values())

    @property
    def needed(self) -> dict[str, float]:
        """Of each part the weights of the statistics that need it; missing values follow their column's."""
        found = {part.name: 0.0 for part in self.parts if part.kind != "missing"}
        for figure in self.figures:
            for part in self._parts_of(figure):
                if part.kind != "missing":
                    found[part.name] += figure.weight
        return found

    @property
    def left_out(self) -> tuple[LeftOut, ...]:
        """Rows without a value, where those are left out, and values beyond the clips."""
        named = [place for place in range(len(self.columns)) if place not in self.conditions]
        missing = [LeftOut("null", (self.names[place],)) for place in named] if self.valued else []
        clips = [(self.names[place], self.clips[place]) for place in named]
        return (*missing, *(LeftOut("clip", (name,), (clip.low, clip.high), clip.chosen_with) for name, clip in clips))

    @property
    def squared(self) -> frozenset[int]:
        """The columns whose squares are needed."""
        return frozenset(figure.values for figure in self.figures if figure.values is not None and _is_spread(figure))

    @property
    def clip_facts(self) -> dict[str, object]:
        """What values are clipped to, for the salt."""
        return {"clips": [[column.low, column.high] for column in self.columns], "valued": self.valued}

    def typical(self, rows: int, bins: int) -> dict[str, NDArray[np.int64]]:
        """The parts of made-up bins with so many rows each: no value missing, and values spread evenly over the
        clip."""
        paired = {name for figure in self.figures for name in figure.paired}

        def one(part: Component) -> int:
            if part.column is None:
                return rows
            column = self.columns[part.column]
            if part.name in paired:  # of a ratio, whose error depends on its sums
                return rows * (column.lowest + column.highest) // 2
            if part.name.startswith("squares"):
                return -rows * column.square_centre // 3  # the mean of 2 t^2 - 1 for t spread evenly over [-1, 1]
            return rows * part.largest if part.kind == "one sign" else 0

        return {part.name: np.full(bins, one(part), dtype=np.int64) for part in self.parts}

    def missing_in_words(self) -> list[str]:
        """What rows without a value are called, by column; a condition by its text: the name of its column is ours."""
        return [
            f"rows for which {column.label} is neither true nor false"
            if place in self.conditions
            else f"rows with no {name}"
            for place, (name, column) in enumerate(zip(self.names, self.columns, strict=True))
        ]

    def in_words(self) -> list[str]:
        """Every statistic in public words."""
        return [self._words(figure) for figure in self.figures]

    def _words(self, figure: Figure) -> str:
        if figure.values is None:
            return {"count": "rows", "share": "share of rows"}[figure.kind]
        column = self.columns[figure.values]
        if figure.kind == "rate":
            return f"rate of {column.label}"
        over = "" if figure.over is None else f" to {_clipped(self.columns[figure.over])}"
        return f"{figure.kind} of {_clipped(column)}{over}"

    def _parts_of(self, figure: Figure) -> list[Component]:
        rows = [Component(ROWS, "rows")] if figure.values is None or figure.kind in COUNTED else []
        if figure.values is None:
            return rows
        place, column = figure.values, self.columns[figure.values]
        if figure.over is not None:
            above, below = figure.paired
            return [_plain(above, column, place), _plain(below, self.columns[figure.over], figure.over)]
        if figure.kind not in COUNTED:
            return [_plain(part_name("plain", place), column, place)]
        sums = [Component(part_name("sum", place), "signed", column.span, place)]
        if _is_spread(figure):
            sums.append(Component(part_name("squares", place), "signed", column.largest_square, place))
        return [*rows, *sums, *([] if self.valued else [Component(part_name("missing", place), "missing", 1, place)])]


def _is_spread(figure: Figure) -> bool:
    return figure.kind in ("variance", "std")


def _clipped(column: Measured) -> str:
    return f"{column.label} clipped to [{column.low!r}, {column.high!r}]"


def _plain(name: str, column: Measured, place: int) -> Component:
    """Values as they are, added up."""
    return Component(name, "one sign" if column.one_sign else "signed", column.largest, place)


def checked(
    data: Dataset, statistics: Mapping[str, Any], weights: Mapping[str, float] | None, by: tuple[str, ...]
) -> Asked:
    """The statistics as they were asked for."""
    if not statistics:
        raise MissingParameter(
            "A summary is of one statistic or more, each under a name of its own.",
            parameter="statistics",
            example=_EXAMPLE,
        )
    if len(statistics) > MAX_STATISTICS:
        raise InvalidParameter(f"A summary has at most {MAX_STATISTICS} statistics. Got {len(statistics)} instead.")
    _check_names(statistics, by)
    sizes = _checked_weights(statistics, weights)
    made = _Columns(data, {}, [], [], [], set())
    figures = tuple(
        Figure(name, kind, values, sizes[name], *over)
        for name, (kind, values, *over) in {name: made.of(name, given) for name, given in statistics.items()}.items()
    )
    return Asked(
        made.data, figures, tuple(made.names), tuple(made.clips), tuple(made.columns), frozenset(made.conditions)
    )


def counted(data: Dataset) -> Asked:
    """The number of rows alone."""
    return Asked(data, (Figure("count", "count"),), (), (), ())


def one_statistic(data: Dataset, kind: FigureKind, column: str, clip: object) -> Asked:
    """One statistic of one column, under its own name: nothing else needs the clip, which may be as fine as it is."""
    ends = Clip.of(clip, data.rows[column].type())
    ends.apply(data.rows[column], column)
    return Asked(data, (Figure(kind, kind, 0),), (column,), (ends,), (_measured(column, ends),))


def _measured(label: str, clip: Clip) -> Measured:
    return Measured(label, clip.low, clip.high, clip.grid, clip.lowest, clip.highest)


@dataclass(slots=True)
class _Columns:
    """The columns of values so far: one for each column and clip, and for each condition."""

    data: Dataset
    places: dict[Any, int]
    names: list[str]
    clips: list[Clip]
    columns: list[Measured]
    conditions: set[int]

    def of(self, name: str, given: Any) -> tuple[FigureKind, int | None] | tuple[FigureKind, int, int]:
        """The kind of a statistic, which column it is of, and which a ratio is divided by."""
        match given:
            case stats.Statistic("count"):
                return "count", None
            case stats.Statistic("share", None):
                return "share", None
            case stats.Statistic("sum" | "mean" | "variance" | "std" | "share" as kind, column, clip):
                if given.grid is not None:
                    raise InvalidParameter(
                        f'"{name}" names a grid, which is for statistics of a unit. The clip of a summary has its own.',
                        parameter="grid",
                        value=given.grid,
                    )
                return kind, self._values(name, column, clip)
            case stats.Statistic("rate", condition):
                return "rate", self._condition(condition)
            case stats.Statistic("ratio"):
                return "ratio", *self._ratio(name, given)
        asked = given.name if isinstance(given, stats.Statistic) else None
        if name in _ELSEWHERE and asked is None:
            raise WrongType(
                f"{name} is an argument of {_ELSEWHERE[name]}, and not of summarize. Leave it out here.",
                parameter=name,
                value=given,
            )
        raise WrongType(
            f'"{name}" must be a statistic of the rows of a bin: count, sum, mean, rate, variance, std, share or ratio '
            f"of leastnoise.stats. Got {asked or type(given).__name__} instead.",
            parameter=name,
            example=_EXAMPLE,
        )

    def _ratio(self, name: str, given: stats.Statistic) -> tuple[int, int]:
        if given.column == given.over:
            raise InvalidParameter(
                f'"{name}" is a ratio of "{given.over}" to itself, which is 1. Name another column to divide by.',
                parameter="over",
                value=given.over,
            )
        above = self._values(name, given.column, given.clip)
        below = self._values(name, given.over, given.over_clip, parameter="over_clip")
        if self.columns[below].low < 0:
            raise InvalidParameter(
                f'"{name}" is over values of "{given.over}" down to {self.columns[below].low:g}: nothing is '
                "divided by a sum that may be negative. Clip them at 0 or above.",
                parameter="over_clip",
                value=given.over_clip,
                example=_ends_typed("over_clip", given.over, (0, 100)),
            )
        return above, below

    def _values(self, name: str, column: str, clip: object, *, parameter: str = "clip") -> int:
        self.data.check_usable(column)
        if clip is None:
            raise MissingParameter(
                f'"{name}" needs the public ends of one value of "{column}": without, one row could move it without '
                "limit.",
                parameter=parameter,
                example=_ends_typed(parameter, column, (0, 100)),
            )
        try:
            ends = _coarse(Clip.of(clip, self.data.rows[column].type()))
        except LeastnoiseError as problem:
            problem.message = f'"{name}": {problem.message}'
            typed = [example["clip"] for example in problem.examples if isinstance(example, dict) and "clip" in example]
            problem.examples = tuple(_ends_typed(parameter, column, pair) for pair in typed)
            raise
        ends.apply(self.data.rows[column], column)
        place = self._place((column, ends.low, ends.high), column, ends, column)
        if ends.chosen_with is not None:  # of two equal clips one may be somebody's own
            self.clips[place] = ends
        return place

    def _condition(self, condition: Any) -> int:
        node = self.data.expression(condition, what="rate")
        if node.type is not expressions.Type.BOOLEAN:
            got = f"Got {node.type.value} instead"
            raise WrongType(
                f'rate must be of what is true or false for a row. {got}: compare them, as "flag = 1" does.'
            )
        text = description.cut(description.escaped(expressions.text(node)))
        if (None, text) in self.places:
            return self.places[None, text]
        name = f"condition {len(self.columns)}"
        while name.casefold() in (other.casefold() for other in self.data.columns):
            name += "_"
        self.data = self.data.with_rows(expressions.with_column(self.data.rows, node, name))
        self.conditions.add(len(self.columns))
        return self._place((None, text), name, Clip(0.0, 1.0, 1.0, 0, 1, True), text)

    def _place(self, key: Any, name: str, clip: Clip, label: str) -> int:
        if key not in self.places:
            self.places[key] = len(self.columns)
            self.names.append(name)
            self.clips.append(clip)
            self.columns.append(_measured(label, clip))
        return self.places[key]


def _ends_typed(parameter: str, column: str, ends: tuple[float, float]) -> Code:
    """The ends of one value, as they stand in a statistic of Python, and in one of the command line or a job."""
    low, high = (f"{end:g}" for end in ends)
    return Code(f"{parameter}=({low}, {high})", f"{column}:{low}:{high} in the statistic")


def whole_numbers(asked: Asked, read: Callable[[str], Integers]) -> dict[str, Integers]:
    """Every part from the totals that were read, by name. PRIVATE. read: a column of them."""
    rows = read("rows")
    found = {ROWS: rows}
    for place, column in enumerate(asked.columns):
        missing, sums = (read(f"{name}{place}") for name in ("missing", "sum"))
        found |= {
            part_name("missing", place): missing,
            part_name("sum", place): sums,
            part_name("plain", place): _as_they_are(sums, column, rows - missing),
        }
        if place in asked.squared:
            found[part_name("squares", place)] = read(f"squares{place}")
    for one, other in asked.pairs:
        both = read(f"both{one}_{other}")
        for place, beside in ((one, other), (other, one)):
            sums = read(f"sum{place}_{beside}")
            found[paired_name(place, beside)] = _as_they_are(sums, asked.columns[place], both)
    return found


def _as_they_are(centred: Integers, column: Measured, rows: Integers) -> Integers:
    """The sum of values from that of centred ones, which is twice as fine, and the rows that have one: Python's
    integers where 64 bits might not hold what is added up."""
    if rows.size and column.largest * int(rows.max()) >= _INT64_SAFE:
        centred, rows = centred.astype(object), rows.astype(object)
    return np.asarray((centred + (column.lowest + column.highest) * rows) // 2)


def _coarse(clip: Clip) -> Clip:
    """The clip in at most 2^30 steps."""
    if clip.highest - clip.lowest <= MAX_SPAN:
        return clip
    grid = grid_step(clip.low, clip.high)
    lowest, highest = rounded_end(clip.low, grid), rounded_end(clip.high, grid)
    return replace(clip, grid=grid, lowest=lowest, highest=highest, integers=False)


def _check_names(statistics: Mapping[str, Any], by: tuple[str, ...]) -> None:
    """Refuse names that would make two columns of one name in what is published."""
    taken = {ending.casefold() for name in by for ending in (name, f"{name}_low", f"{name}_high")}
    for name in statistics:
        if not name.isidentifier() or name.startswith("_"):
            raise InvalidParameter(
                f"A statistic is named by a word, such as flights. Got {name!r} instead.", parameter="statistics"
            )
        columns = {ending.casefold() for ending in (name, f"{name}_low", f"{name}_high")}
        if columns & taken:
            raise InvalidParameter(
                f'The statistic "{name}" and another column of the answer would have one name. Use another name.',
                parameter="statistics",
                value=name,
            )
        taken |= columns
    ratio = any(isinstance(given, stats.Statistic) and given.name == "ratio" for given in statistics.values())
    reserved = {*RESERVED, *FIGURE_KINDS, *(["over"] if ratio else [])}
    for name in by:
        if name in reserved:
            raise InvalidParameter(
                f'A key column named "{name}" collides with a column of the answer. Rename it first.'
            )


def _checked_weights(statistics: Mapping[str, Any], weights: Mapping[str, float] | None) -> dict[str, float]:
    given = {} if weights is None else weights
    if not isinstance(given, Mapping):
        raise WrongType(
            f"weights are by the name of a statistic. Got {type(given).__name__} instead.",
            example={"weights": {next(iter(statistics)): 4}},
        )
    for name, weight in given.items():
        known = name in statistics
        if not known or isinstance(weight, bool) or not isinstance(weight, Real):
            raise InvalidParameter(
                f"weights are numbers above 0, by the name of a statistic. Got {name!r}: {weight!r} instead.",
                example={"weights": {next(iter(statistics)): 4}},
            )
        if not 1e-6 <= weight <= 1e6 or math.isnan(weight):
            raise InvalidParameter(
                f"A weight is from 1e-6 to 1e6. Got {weight!r} for {name!r} instead.", parameter="weights", value=weight
            )
    return {name: float(given.get(name, 1.0)) for name in statistics}
