"""A picture as SVG for a page: colours are classes of the palette, so that it follows day and night; no script.

Places are written to a hundredth of a pixel and rounded to the left and up, so that a line that bounds something from
above is nowhere drawn below it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from html import escape
from typing import Any

import numpy as np

from leastnoise._support.validation import Floats
from leastnoise.pictures import palette
from leastnoise.pictures.picture import (
    Areas,
    Axis,
    Band,
    Bars,
    Cells,
    Line,
    Mark,
    Picture,
    Points,
    Ranges,
    Segments,
    Shades,
    Words,
    extent,
    ticks,
)

PIXELS = 100.0  # of an inch of the picture
LETTER = 7.0  # how wide a letter is, about
LINE = 17.0  # from one name to the next
STRIPES = (
    '<defs><pattern id="stripes" width="7" height="7" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">'
    '<path d="M0 0V7"/></pattern></defs>'
)
Place = Callable[[Any], Floats]


def svg(picture: Picture) -> str:
    """The element, as wide as its place on the page, and no wider than the picture's size."""
    wide, high = (PIXELS * side for side in picture.size)
    x, y = _scales(picture, wide, high)
    marks = "".join(_mark(mark, x, y, picture.shades) for mark in picture.marks) + _names(picture, x, y)
    axes = "" if picture.bare else _axes(picture, x, y, wide, high)
    bar = "" if picture.scale_bar is None else _scale_bar(picture, x, wide, high)
    kind = "picture map" if picture.bare else "picture"
    return (
        f'<svg class="{kind}" width="{wide:g}" height="{high:g}" viewBox="0 0 {wide:g} {high:g}" role="img" '
        f'aria-label="{escape(picture.alt, quote=True)}">{axes}{marks}{bar}</svg>'
    )


def places(picture: Picture, x: Any, y: Any) -> list[list[int]]:
    """Where points are in the drawing, in whole pixels: for a page that tells what a pointer is at."""
    across, down = _scales(picture, *(PIXELS * side for side in picture.size))
    return [np.rint(across(x)).astype(int).tolist(), np.rint(down(y)).astype(int).tolist()]


def _scales(picture: Picture, wide: float, high: float) -> tuple[Place, Place]:
    if picture.bare:
        left, right, top, bottom = 6.0, wide - 6, 6.0, high - 6
    else:
        names = [name for _, name in ticks(*extent(picture, "y"), picture.y)]
        left = 18.0 + LETTER * max(map(len, names), default=0) + (18 if picture.y.title else 0)
        ends = [mark for mark in picture.marks if isinstance(mark, Line) and mark.name]
        right = wide - max([14.0, *(LETTER * len(mark.name) + 12 for mark in ends)])
        top, bottom = 12.0, high - (46 if picture.x.title else 26)
    rows = (top, bottom) if picture.downward else (bottom, top)
    return (
        partial(_scale, *extent(picture, "x"), left, right, picture.x.log),
        partial(_scale, *extent(picture, "y"), *rows, picture.y.log),
    )


def _scale(low: float, high: float, start: float, end: float, log: bool, values: Any) -> Floats:
    values = np.asarray(values, dtype=np.float64)
    if log:
        low, high = math.log10(low), math.log10(high)
        with np.errstate(divide="ignore", invalid="ignore"):
            values = np.log10(values)
    found: Floats = start + (values - low) / (high - low) * (end - start)
    return found


def _axes(picture: Picture, x: Place, y: Place, wide: float, high: float) -> str:
    (left, right), (bottom, top) = x(extent(picture, "x")), y(extent(picture, "y"))
    low = max(bottom, top)
    made = [
        f'<path class="grid" d="M{left:g} {_n(at)}H{right:g}"/><text class="end" x="{left - 8:g}" y="{at + 4:.1f}">'
        f"{escape(name)}</text>"
        for at, name in _named(picture, "y", y)
    ]
    made += [
        f'<text class="middle" x="{at:.1f}" y="{low + 18:g}">{escape(name)}</text>'
        for at, name in _named(picture, "x", x)
    ]
    made.append(_title(picture.x, f'x="{(left + right) / 2:g}" y="{high - 6:g}"'))
    made.append(_title(picture.y, f'transform="translate(13 {(top + bottom) / 2:g}) rotate(-90)"'))
    return "".join(made)


def _title(axis: Axis, place: str) -> str:
    return f'<text class="middle" {place}>{escape(axis.title)}</text>' if axis.title else ""


def _named(picture: Picture, axis: str, scale: Place) -> list[tuple[float, str]]:
    found = ticks(*extent(picture, axis), getattr(picture, axis))  # type: ignore[arg-type]
    return [(float(at), name) for at, (_, name) in zip(scale([at for at, _ in found]), found, strict=True)]


def _n(pixels: float) -> str:
    return f"{math.floor(100 * float(pixels)) / 100:g}"


def _path(x: Any, y: Any) -> str:
    """From place to place in steps of whole hundredths of a pixel; a step that goes straight on is part of the last."""
    places = np.floor(100 * np.stack([np.asarray(x, float), np.asarray(y, float)], axis=1)).astype(np.int64)
    steps: list[tuple[int, int]] = []
    for right, down in np.diff(places, axis=0).tolist():
        before = steps[-1] if steps else (0, 0)
        if before[0] * down == before[1] * right and before[0] * right + before[1] * down >= 0:
            steps[-1:] = [(before[0] + right, before[1] + down)]
        else:
            steps.append((right, down))
    first = " ".join(f"{place / 100:g}" for place in places[0])
    return f"M{first}" + "".join(f"l{right / 100:g} {down / 100:g}" for right, down in steps)


def _colour(kind: str, style: str) -> str:
    return f'class="{kind}-{style}"' if style in palette.LIGHT else f'style="{kind}:{escape(style, quote=True)}"'


def _mark(mark: Mark, x: Place, y: Place, shades: Shades | None) -> str:
    match mark:
        case Line():
            return _line(mark, x, y)
        case Band():
            return _band(mark, x, y)
        case Bars():
            return _bars(mark, x, y)
        case Ranges():
            return _ranges(mark, x, y)
        case Points():
            return _points(mark, x, y, shades)
        case Segments():
            return _segments(mark, x, y)
        case Areas():
            return _areas(mark, x, y, shades)
        case Cells():
            return _cells(mark, x, y, shades)
        case Words():
            return _words(mark, x, y)


def _line(mark: Line, x: Place, y: Place) -> str:
    across, up = np.asarray(mark.x, float), np.asarray(mark.y, float)
    known = np.isfinite(up)
    if not known.any():
        return ""
    across, up = x(across[known]), y(up[known])
    drawn = f"<path {_colour('stroke', mark.style)}"
    dashes = f' data-dashes="{mark.dashes}"' if mark.dashes else ""
    return f'{drawn}{dashes} fill="none" stroke-width="{mark.width:g}" d="{_path(across, up)}"/>'


def _names(picture: Picture, x: Place, y: Place) -> str:
    """The names of the lines behind their ends, one below the other."""
    ends = []
    for mark in picture.marks:
        if isinstance(mark, Line) and mark.name:
            known = np.flatnonzero(np.isfinite(np.asarray(mark.y, float)))
            if known.size:
                ends.append((float(y(mark.y[known[-1]])), float(x(mark.x[known[-1]])), mark.name))
    made, last = "", -LINE
    for down, across, name in sorted(ends):
        last = max(down, last + LINE)
        made += f'<text x="{across + 6:.1f}" y="{last + 4:.1f}">{escape(name)}</text>'
    return made


def _band(mark: Band, x: Place, y: Place) -> str:
    ring = _path(x(np.concatenate([mark.x, mark.x[::-1]])), y(np.concatenate([mark.high, mark.low[::-1]])))
    return f'<path {_colour("fill", mark.style)} fill-opacity="0.22" d="{ring}Z"/>'


def _bars(mark: Bars, x: Place, y: Place) -> str:
    middle = np.asarray(mark.y, dtype=float)
    sides = zip(x(mark.start), x(mark.end), y(middle - mark.height / 2), y(middle + mark.height / 2), strict=True)
    boxes = "".join(
        f'<rect x="{_n(min(a, b))}" y="{_n(min(c, d))}" width="{abs(b - a):.2f}" height="{abs(d - c):.2f}"/>'
        for a, b, c, d in sides
    )
    if mark.striped:
        return f"{STRIPES}<g data-striped>{boxes}</g>"
    return f"<g {_colour('fill', mark.style)}>{boxes}</g>"


def _ranges(mark: Ranges, x: Place, y: Place) -> str:
    d = "".join(f"M{_n(a)} {_n(at)}H{_n(b)}" for a, b, at in zip(x(mark.low), x(mark.high), y(mark.y), strict=True))
    return f'<path {_colour("stroke", mark.style)} stroke-width="1.5" d="{d}"/>'


def _layer(shown: str, inside: str) -> str:
    return f'<g data-layer="{shown}">{inside}</g>' if shown else inside


def _points(mark: Points, x: Place, y: Place, shades: Shades | None) -> str:
    """Dots of one shade are one path of lines without a length, whose round ends are the dots: many draw at once."""
    across, up = x(mark.x), y(mark.y)
    if mark.values is None or shades is None:
        d = "".join(f"M{_n(a)} {_n(b)}h0" for a, b in zip(across, up, strict=True))
        return f'<path class="dots stroke-{mark.style}" stroke-width="{mark.size:g}" d="{d}"/>'
    parts = shades.part(mark.values)
    made = ""
    for shade, inside in _by_shade(parts):
        d = "".join(f"M{a:.0f} {b:.0f}h0" for a, b in zip(across[inside], up[inside], strict=True))
        size = mark.size * (0.35 + 0.65 * shade / (palette.SHADES - 1))
        made += f'<path class="dots {_shade(shades, shade)}" stroke-width="{size:.3g}" d="{d}"/>'
    return _layer(mark.shown, made)


def _by_shade(parts: Floats) -> list[tuple[int, Any]]:
    numbers = np.array(palette.numbered(np.nan_to_num(parts.ravel(), nan=-1.0)))
    return [(int(number), numbers == number) for number in np.unique(numbers[numbers >= 0])]


def _shade(shades: Shades, number: int) -> str:
    return f"{'d' if shades.kind == 'both' else 's'}{number}"


def _segments(mark: Segments, x: Place, y: Place) -> str:
    (a, b), (c, d) = ((x(mark.ends[:, end, 0]), y(mark.ends[:, end, 1])) for end in (0, 1))
    lines = "".join(f"M{p:.0f} {q:.0f}L{r:.0f} {s:.0f}" for p, q, r, s in zip(a, b, c, d, strict=True))
    return f'<path class="streets" d="{lines}"/>'


def _areas(mark: Areas, x: Place, y: Place, shades: Shades | None) -> str:
    assert shades is not None
    parts, made = shades.part(mark.values), ""
    bins = mark.bins if mark.bins is not None else range(len(mark.rings))
    for rings, part, bin_ in zip(mark.rings, parts, bins, strict=True):
        shade = "empty" if np.isnan(part) else _shade(shades, palette.numbered(np.array([part]))[0])
        d = "".join(_outline(x(ring[:, 0]), y(ring[:, 1])) for ring in rings)
        made += f'<path class="area {shade}" data-bin="{int(bin_)}" d="{d}"/>'
    return _layer(mark.shown, made)


def _outline(x: Floats, y: Floats) -> str:
    """A ring in whole tenths of a pixel; corners that cannot be told apart are one."""
    corners = np.rint(10 * np.stack([x, y], axis=1)).astype(int)
    moved = np.append(True, (np.diff(corners, axis=0) != 0).any(axis=1))
    return "M" + "L".join(f"{a / 10:g} {b / 10:g}" for a, b in corners[moved]) + "Z"


def _cells(mark: Cells, x: Place, y: Place, shades: Shades | None) -> str:
    assert shades is not None
    rows, columns = mark.values.shape
    left, right, bottom, top = mark.extent
    across = x(np.linspace(left, right, columns + 1))
    up = y(np.linspace(top, bottom, rows + 1) if mark.downward else np.linspace(bottom, top, rows + 1))
    made = ""
    for shade, inside in _by_shade(shades.part(mark.values)):
        picked, d = inside.reshape(rows, columns), ""
        for row in np.flatnonzero(picked.any(axis=1)):
            edges = np.flatnonzero(np.diff(np.concatenate([[0], picked[row], [0]])))
            high = up[row + 1] - up[row]
            for start, end in zip(edges[::2], edges[1::2], strict=True):
                d += f"M{across[start]:.1f} {up[row]:.1f}H{across[end]:.1f}v{high:.1f}H{across[start]:.1f}z"
        made += f'<path class="cells {_shade(shades, shade)}" d="{d}"/>'
    return _layer(mark.shown, made)


def _words(mark: Words, x: Place, y: Place) -> str:
    right, up = mark.shift
    look = f"{mark.anchor} {'halo' if mark.halo else ''} fill-{mark.style}"
    return "".join(
        f'<text class="{look}" x="{a + right:.1f}" y="{b + 4 - up:.1f}">{escape(text)}</text>'
        for a, b, text in zip(x(mark.x), y(mark.y), mark.texts, strict=True)
    )


def _scale_bar(picture: Picture, x: Place, wide: float, high: float) -> str:
    """A round length at the lower right, above a halo: what lies below may be dark."""
    assert picture.scale_bar is not None
    length, name = picture.scale_bar
    pixels = float(x(length) - x(0.0))
    line = f"M{wide - 10 - pixels:.1f} {high - 12:g}h{pixels:.1f}"
    text = f'<text class="middle halo" x="{wide - 10 - pixels / 2:.1f}" y="{high - 18:g}">{escape(name)}</text>'
    return f'<path class="halo" d="{line}"/><path class="stroke-ink" stroke-width="2.5" d="{line}"/>{text}'
