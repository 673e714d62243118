"""The colours of every page and picture: one hue for what was published, orange beside it, each by day and by night.

Lightness, dashes or place repeat what colours say, so that a grey print and every kind of colour vision lose nothing.
"""

from __future__ import annotations

from leastnoise._support.validation import Floats

LIGHT = {
    "paper": "#ffffff", "wash": "#f1f4f7", "ink": "#1b1f24", "quiet": "#57606a", "line": "#d5dae0", "main": "#0b5a9c",
    "bar": "#8fb5dd", "whisker": "#06305a", "second": "#b35806", "third": "#2a7f3f", "loud": "#a3230f",
    "badge": "#e3eefa", "none": "#e6e8eb",
}  # fmt: skip
DARK = {
    "paper": "#14181d", "wash": "#1f262e", "ink": "#e8ebee", "quiet": "#a4adb7", "line": "#39424c", "main": "#79b8f2",
    "bar": "#3d71a6", "whisker": "#dcecfb", "second": "#f1a340", "third": "#7fc795", "loud": "#ff9a85",
    "badge": "#1d3852", "none": "#2a3038",
}  # fmt: skip
RAMP = {
    "light": ("#eef3f8", "#a9cbe8", "#4f95cf", "#0b5a9c", "#06203c"),
    "dark": ("#222b34", "#1f4e79", "#3384c6", "#83c4f7", "#f2faff"),
}
BOTH_WAYS = {
    "light": ("#b35806", "#f1a340", "#f2f2f2", "#5aa0d8", "#0b5a9c"),
    "dark": ("#f1a340", "#a3611f", "#2a3139", "#2f6ea3", "#83c4f7"),
}
SHADES = 24


def css() -> str:
    """The palette as custom properties, and a class for each shade (s0 to s23, d0 to d23 both ways from zero)."""
    night = f"@media screen and (prefers-color-scheme: dark) {{ {_rules(DARK, 'dark')} }}"
    return f"{_rules(LIGHT, 'light')}\n{night}\n"


def _rules(names: dict[str, str], mode: str) -> str:
    variables = "".join(f"--{name}:{colour};" for name, colour in names.items())
    variables += f"--ramp:linear-gradient(to right,{','.join(RAMP[mode])});"
    variables += f"--both:linear-gradient(to right,{','.join(BOTH_WAYS[mode])});"
    classes, on = "", {"#000": "", "#fff": ""}
    for letter, ramp in (("s", RAMP[mode]), ("d", BOTH_WAYS[mode])):
        for number in range(SHADES):
            colour = shade(ramp, number / (SHADES - 1))
            clear = "#000" if brightness(colour) > 0.179 else "#fff"  # which stands out more: 4.5 to 1 on every shade
            classes += f".{letter}{number}{{fill:{colour};stroke:{colour}}}"
            on[clear] += f",.picture .on-{letter}{number}"
    return f":root{{{variables}}}{classes}" + "".join(f"{names[1:]}{{fill:{clear}}}" for clear, names in on.items())


def shade(ramp: tuple[str, ...], part: float) -> str:
    """The colour at a part of a ramp.

    >>> shade(("#000000", "#ffffff"), 0.5)
    '#808080'
    """
    place = part * (len(ramp) - 1)
    at = min(len(ramp) - 2, int(place))
    mixed = [
        round(a + (b - a) * (place - at))
        for a, b in zip(_channels(ramp[at]), _channels(ramp[at + 1]), strict=True)
    ]  # fmt: skip
    return "#" + "".join(f"{channel:02x}" for channel in mixed)


def numbered(parts: Floats) -> list[int]:
    """The shade of each part of the ramp."""
    return [round(float(part) * (SHADES - 1)) for part in parts]


def brightness(colour: str) -> float:
    """The relative luminance of WCAG.

    >>> brightness("#ffffff"), brightness("#000000")
    (1.0, 0.0)
    """
    linear = [c / 255 / 12.92 if c <= 10.3 else ((c / 255 + 0.055) / 1.055) ** 2.4 for c in _channels(colour)]
    return round(0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2], 12)


def _channels(colour: str) -> list[int]:
    return [int(colour[place : place + 2], 16) for place in (1, 3, 5)]
