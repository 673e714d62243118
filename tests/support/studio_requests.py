"""A browser without a screen for a studio that runs as a process of its own.

It knows, as browsers do and not every system does, that a name which ends in .localhost is this machine.
"""

from __future__ import annotations

import re
from contextlib import closing
from email.message import Message
from http.client import HTTPConnection
from typing import NamedTuple
from urllib.parse import urlencode, urlsplit


class Answer(NamedTuple):
    """What came back."""

    status: int
    headers: Message
    text: str

    def hidden(self) -> dict[str, str]:
        """What the forms of the page carry besides what is filled in."""
        return dict(re.findall(r'<input type="hidden" name="(\w+)" value="([\w-]+)"', self.text))


class Requests:
    """Of this user's browser, for a studio that printed this link: first the way to its name, then the cookie."""

    def __init__(self, link: str) -> None:
        parts = urlsplit(link)
        self.port, self.key, self.cookie = int(parts.port or 0), parts.query.partition("=")[2], ""
        self.door = self.host = parts.netloc
        self.host = self.get(f"/?key={self.key}").headers["location"].split("/")[2]

    def enter(self) -> None:
        """Use the link."""
        self.cookie = self.get(f"/?key={self.key}").headers["set-cookie"].partition(";")[0]

    def get(self, path: str) -> Answer:
        return self._answer("GET", path, "")

    def post(self, path: str, fields: dict[str, str]) -> Answer:
        return self._answer("POST", path, urlencode(fields))

    def headers(self) -> dict[str, str]:
        """Of a request."""
        cookie = {"cookie": self.cookie} if self.cookie else {}
        return {"host": self.host, "origin": f"http://{self.host}", **cookie}

    def _answer(self, method: str, path: str, body: str) -> Answer:
        with closing(HTTPConnection("127.0.0.1", self.port, timeout=60)) as connection:
            form = {"content-type": "application/x-www-form-urlencoded"}
            connection.request(method, path, body or None, self.headers() | form)
            answer = connection.getresponse()
            return Answer(answer.status, answer.headers, answer.read().decode())
