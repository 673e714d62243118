"""A file and a server judge alike: random lives of a budget, entries forged by hand, and chains that were edited.

On the server every other step is an analyst's, who writes through the one function that he may call. A forged entry
passes by everything that Python checks before it writes: the function alone judges it there, and `verify` in a file.
"""

from __future__ import annotations

import getpass
import random
import shutil
import sqlite3
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import leastnoise as ln
from fuzzing import add, seeds
from ledger_faults import edit
from ledger_steps import TERMS, Forgery, Holder, next_hash, outcome, questions, some_step, state
from postgres_server import ANALYST, ANALYST_PASSWORD, OWNER, Server, grants

pytestmark = [
    pytest.mark.filterwarnings("ignore::leastnoise.errors.WeakPromise"),
    pytest.mark.filterwarnings("ignore::leastnoise.errors.Wasteful"),
]


class Both:
    """One budget twice."""

    def __init__(self, server: Server, folder: Path, name: str, terms: dict[str, Any]) -> None:
        self.server, self.path, self.schema = server, folder / f"{name}.ledger", f"leastnoise_{name}"
        ln.Budget.open(server.url(name), **terms)
        server.run(*grants(name, ANALYST))
        analyst = server.url(name, user=ANALYST, password=ANALYST_PASSWORD)
        self.file = Holder((str(self.path),), (getpass.getuser(),))
        self.remote = Holder((server.url(name), analyst), (OWNER, ANALYST))
        self.file.open(**terms)
        self.remote.open()

    @property
    def holders(self) -> tuple[Holder, Holder]:
        return self.file, self.remote

    def states(self) -> list[Any]:
        """As a file has it, and as the owner and the analyst see it on the server."""
        return [outcome(partial(state, held)) for holder in self.holders for held in holder.held]

    def reopen(self) -> None:
        for holder in self.holders:
            holder.open()
            holder.held[0].reopen(reason="go on")

    def verdicts(self, forgery: Forgery) -> tuple[bool, bool]:
        """Whether the file has it for an entry, and whether the server does; then it is one."""
        return self._in_file(forgery), self._on_server(forgery)

    @cached_property
    def _names(self) -> list[str]:
        return [name for (name,) in self.server.run(COLUMNS.format(schema=self.schema))]

    @cached_property
    def _caps(self) -> dict[str, int]:
        return {name: int(value) for name, value in self.server.run(f"SELECT name, value FROM {self.schema}.caps")}

    def _in_file(self, forgery: Forgery) -> bool:
        tried = self.path.with_suffix(".tried")
        shutil.copyfile(self.path, tried)
        with closing(sqlite3.connect(tried)) as db:
            db.row_factory = sqlite3.Row
            entries = [dict(row) for row in db.execute("SELECT * FROM entries ORDER BY number")]
            fields = forgery.fields(entries, self._caps, "ann")
            names = self._names
            (previous,) = db.execute("SELECT hash FROM head").fetchone()
            made = next_hash(previous, [fields[name] for name in names])
            listed, marks = ", ".join(f'"{name}"' for name in (*names, "hash")), ", ".join("?" * (len(names) + 1))
            db.execute(f"INSERT INTO entries ({listed}) VALUES ({marks})", [*(fields[name] for name in names), made])
            db.execute("UPDATE head SET number = ?, hash = ?", [fields["number"], made])
            db.commit()
        try:
            ln.Budget.open(tried).verify()
        except ln.errors.LedgerBroken:
            return False
        shutil.copyfile(tried, self.path)
        return True

    def _on_server(self, forgery: Forgery) -> bool:
        import psycopg
        from psycopg.rows import dict_row

        address = self.server.address(user=ANALYST, password=ANALYST_PASSWORD)
        with psycopg.connect(address, autocommit=True, row_factory=dict_row) as db:
            entries = db.execute(f"SELECT * FROM {self.schema}.entries ORDER BY number".encode()).fetchall()
            fields = forgery.fields(entries, self._caps, ANALYST)
            texts = [str(fields[name]) for name in self._names]
            try:
                db.execute(f"SELECT {self.schema}.append_entry(%s)".encode(), [texts])
            except psycopg.errors.RaiseException:
                return False
        return True

    def edit(self, statement: str) -> None:
        """By hand, in both."""
        edit(self.path, statement)
        self.server.run(*self._by_hand, statement)

    @property
    def _by_hand(self) -> list[str]:
        return [f"SET search_path = {self.schema}", "ALTER TABLE entries DISABLE TRIGGER entries_stay"]

    def kept(self) -> bytes:
        """Both as they are now, for `put_back`."""
        self.server.run(*(f"CREATE TABLE kept_{name} AS SELECT * FROM {self.schema}.{name}" for name in TABLES))
        return self.path.read_bytes()

    def put_back(self, whole: bytes) -> None:
        self.path.write_bytes(whole)
        for name in TABLES:
            self.server.run(
                *self._by_hand, f"DELETE FROM {name}", f"INSERT INTO {name} SELECT * FROM public.kept_{name}"
            )


TABLES = ("terms", "entries", "head")
COLUMNS = (
    "SELECT column_name FROM information_schema.columns WHERE table_schema = '{schema}' AND table_name = 'entries' "
    "AND column_name <> 'hash' ORDER BY ordinal_position"
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    yield tmp_path_factory.mktemp("both")
    questions.cache_clear()


def live(both: Both, chance: random.Random, steps: int) -> Iterator[tuple[str, Any, Any]]:
    """Random steps, with what became of each in the file and on the server."""
    for _ in range(steps):
        name, step = some_step(chance, both.file.held[0])
        yield name, *(outcome(partial(step, holder)) for holder in both.holders)


def test_random_lives_of_a_budget_are_judged_alike(server: Server, folder: Path) -> None:
    seen: Counter[str] = Counter()
    for seed in seeds(8):
        both = Both(server, folder, f"life{seed}", TERMS[seed % len(TERMS)])
        for number, (name, in_file, on_server) in enumerate(live(both, random.Random(seed), 18)):
            assert in_file == on_server, (seed, number, name)
            seen[in_file[0] if in_file else name] += 1
            if number % 6 == 5:
                first, *others = both.states()
                assert all(other == first for other in others), (seed, number, name)
        for holder in both.holders:
            holder.open()
            assert len({held.verify() for held in holder.held}) == 1
        add("steps of budgets in both stores", 18)
    assert min(seen[each] for each in TAKEN | REFUSED) >= 1, seen  # else nothing of it was asked


TAKEN = {"vector", "question", "allocate", "give_back", "close", "reopen", "open_again"}
REFUSED = {"BudgetExhausted", "BudgetMismatch", "BudgetClosed", "ReadingFailed", "LedgerForbidden", "InvalidParameter"}


def test_forged_entries_are_judged_alike(server: Server, folder: Path) -> None:
    seen: Counter[tuple[str, bool]] = Counter()
    for seed in seeds(6):
        chance = random.Random(f"forged {seed}")
        terms = TERMS[seed % len(TERMS)]
        both = Both(server, folder, f"forged{seed}", terms)
        for holder in both.holders:
            if seed % 2 == 0:  # as the other kind, whose caps are others
                holder.open(epsilon=terms["epsilon"], delta=0 if terms["delta"] else 1e-6)
            holder.held[0].allocate("maps", share=0.3)
        for number in range(25):
            if both.file.held[0].closed and chance.random() < 0.4:
                both.reopen()
            forgery = Forgery.drawn(chance)
            in_file, on_server = both.verdicts(forgery)
            assert in_file == on_server, (seed, number, forgery)
            seen[forgery.kind, in_file] += 1
        first, *others = both.states()
        assert all(other == first for other in others), seed
        add("forged entries in both stores", 25)
    assert min(seen[kind, taken] for kind in ("release", "close") for taken in (True, False)) >= 1, seen


EDITS = [
    *(f"""UPDATE entries SET "{column}" = '0' || "{column}" WHERE number = {number}"""
      for column, number in [("made", 3), ("kind", 5), ("query", 1), ("gaussian", 3), ("spent_pure", 5), ("hash", 3)]),
    "UPDATE entries SET gaussian = '0', spent_gaussian = '0' WHERE number = 5",
    "UPDATE entries SET account = '' WHERE number = 5",
    "UPDATE entries SET details = '' WHERE number = 4",
    "DELETE FROM entries WHERE number = 3",
    "DELETE FROM entries WHERE number = 5",
    "UPDATE entries SET number = 99 WHERE number = 5",
    "UPDATE head SET number = number - 1",
    "UPDATE head SET hash = 'x'",
    "DELETE FROM head",
    "UPDATE terms SET value = '9' WHERE name = 'mu'",
    "UPDATE terms SET value = 'replace' WHERE name = 'neighbours'",
    "DELETE FROM terms WHERE name = 'epsilon'",
]  # fmt: skip


def test_edited_chains_are_refused_alike(server: Server, folder: Path) -> None:
    both = Both(server, folder, "edited", TERMS[0])
    for holder in both.holders:
        for _ in range(3):
            ln.release(np.array([1]), sensitivity=1, budget=holder.held[0], share=0.1, note="a map")
        holder.held[0].allocate("maps", share=0.1)
        ln.release(np.array([1]), sensitivity=1, budget=holder.held[0].allocation("maps"), share=0.1)
    whole = both.kept()
    for statement in EDITS:
        both.edit(statement)
        in_file, on_server = (looks(holder.places[0]) for holder in both.holders)
        assert in_file == on_server, statement
        assert in_file[-1][0] == "LedgerBroken", statement
        both.put_back(whole)
    assert all(holder.held[0].verify() for holder in both.holders)


def looks(place: str) -> list[Any]:
    """How it is refused to be opened, read, spent from and checked."""
    return [
        outcome(lambda: ln.Budget.open(place) and None),
        outcome(lambda: ln.Budget.open(place).remaining),
        outcome(lambda: len(ln.Budget.open(place).history())),
        outcome(lambda: ln.release(np.array([1]), sensitivity=1, budget=ln.Budget.open(place), share=0.5).kind),
        outcome(lambda: ln.Budget.open(place).verify()),
    ]
