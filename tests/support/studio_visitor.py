"""A studio in this process, and a visitor without a screen who was let in."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from starlette.testclient import TestClient

import leastnoise as ln
from leastnoise.studio.access import Keys
from leastnoise.studio.app import application
from leastnoise.studio.folder import Folder
from leastnoise.studio.session import Studio

PORT = 8765
NAME = "studio-of-a-test.localhost"
ORIGIN = f"http://{NAME}:{PORT}"


@dataclass
class Visitor:
    """A browser without a screen."""

    client: TestClient
    studio: Studio
    folder: Path

    def hidden(self, path: str) -> dict[str, str]:
        """What the forms of a page carry besides what is filled in."""
        page = self.client.get(path).text
        found = dict(re.findall(r'<input type="hidden" name="(\w+)" value="([\w-]+)"', page))
        assert "form_key" in found, page
        return found

    def form_key(self, path: str) -> str:
        return self.hidden(path)["form_key"]

    def send(self, path: str, **fields: Any) -> Any:
        """Fill in the form at the path; names with a colon are given with two underscores."""
        named = {name.replace("__", ":"): value for name, value in fields.items()}
        whole = {**self.hidden(path), "go": "next", **named}
        return self.client.post(path, data=whole, headers={"origin": ORIGIN}, follow_redirects=False)

    def look(self, path: str, **fields: Any) -> str:
        """What a page says of a form that is filled in so; nothing is kept."""
        return str(self.send(path, **fields, go="stay").text)

    def act(self, page: str, action: str, **fields: Any) -> Any:
        """Send a form of the page to an address of its own."""
        named = {name.replace("__", ":"): value for name, value in fields.items()}
        data = {"form_key": self.form_key(page), **named}
        return self.client.post(action, data=data, headers={"origin": ORIGIN}, follow_redirects=False)

    def drop(self, name: str, body: bytes, column: str = "") -> Any:
        """Drop a file of keys on the step about the question."""
        headers = {"origin": ORIGIN, "x-form-key": self.form_key("/job/people/question")}
        asked = {"name": name, "column": column}
        return self.client.post("/job/people/keys", params=asked, content=body, headers=headers)

    def released(self, job: str = "people") -> str:
        """Wait for the release; what became of it."""
        for _ in range(1200):
            state = self.client.get(f"/job/{job}/release/state").json()["state"]
            if state != "running":
                return str(state)
            time.sleep(0.05)
        raise TimeoutError


def anybody(connection: Any) -> bool:
    """Whose connections a visitor's are: without a socket nobody can say."""
    return True


def ready(desk: Visitor) -> None:
    """Up to the release, which is not made."""
    desk.send("/job/people/table", unit="person")
    desk.send("/job/people/question", question="histogram", by=["sex"], keys__sex="F, M")
    desk.send("/job/people/limits", max_rows="1")
    desk.send("/job/people/privacy", go="create", ledger="city", new__epsilon="3", new__delta="1e-6")
    sent = desk.send("/job/people/privacy", budget="city.ledger", share="0.2")
    assert sent.headers["location"] == "/job/people/release"


def paid() -> int:
    """How many releases."""
    return len(ln.Budget.open("city.ledger").history())


def revisited(earlier: Visitor) -> Visitor:
    """Of a studio that was stopped and is started anew in the same folder."""
    return _visitor(earlier.folder)


def visitor(folder: Path, rows: Any) -> Visitor:
    """Of a studio that was started for these rows in the folder."""
    pq.write_table(rows, folder / "people.parquet")
    return _visitor(folder)


def _visitor(folder: Path) -> Visitor:
    studio = Studio(Folder.of(folder), "people.parquet")
    keys = Keys(lambda link: None)
    keys.name = NAME
    client = TestClient(application(studio, keys, PORT, anybody), base_url=ORIGIN)
    assert client.get(f"/?key={keys.link}").status_code == 200
    return Visitor(client, studio, folder)
