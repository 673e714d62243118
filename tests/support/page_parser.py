"""A page as its elements, its text and its data."""

from __future__ import annotations

import json
from base64 import b64decode
from html.parser import HTMLParser
from itertools import product
from typing import Any

import numpy as np


class Page(HTMLParser):
    """Elements in order, the text outside scripts, and the data inside."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.text, self.data, self._inside = "", "", ""
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: Any) -> None:
        self.tags.append(tag)
        self._inside = dict(attributes).get("id") or tag if tag == "script" else ""

    def handle_endtag(self, tag: str) -> None:
        self._inside = ""

    def handle_data(self, data: str) -> None:
        if self._inside == "data":
            self.data += data
        elif self._inside != "script":
            self.text += data

    @property
    def found(self) -> dict[str, Any]:
        """The data."""
        held: dict[str, Any] = json.loads(self.data)
        return held

    def table(self, *names: str) -> dict[str, Any]:
        """The table of these columns."""
        columns = self.found["columns"]
        for table in self.found["tables"]:
            if tuple(columns[place]["name"] for place in table["axes"]) == names:
                found: dict[str, Any] = table
                return found
        raise KeyError(names)

    @property
    def columns(self) -> dict[str, list[Any]]:
        """The first table as its columns: keys by their names, then Published, Low, High and whatever else there is."""
        table = self.found["tables"][0]
        axes = [self.found["columns"][place] for place in table["axes"]]
        keys = [axis["keys"] for axis in axes]
        cells = list(zip(*keys, strict=True)) if table["flat"] else list(product(*keys))
        made = {axis["title"]: [cell[place] for cell in cells] for place, axis in enumerate(axes)}
        for number, measure in enumerate(table["measures"]):
            made[measure["title"]] = values = decoded(measure["values"])
            for end, sign in (("low", -1), ("high", 1)):
                name = end.capitalize() if not number else f"{measure['title']} {end}"
                if "half" in measure:
                    made[name] = [value + sign * measure["half"] for value in values]
                elif end in measure:
                    made[name] = decoded(measure[end])
        return made | ({"Denoised": decoded(table["denoised"])} if table["denoised"] else {})


def decoded(held: Any) -> list[Any]:
    """Numbers as the page holds them: a list, or the bytes of doubles."""
    return held if isinstance(held, list) else np.frombuffer(b64decode(held), dtype="<f8").tolist()
