"""A page as its elements, its text and its data."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from typing import Any


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
    def columns(self) -> dict[str, list[Any]]:
        return {column["title"]: column["values"] for column in json.loads(self.data)["table"]}
