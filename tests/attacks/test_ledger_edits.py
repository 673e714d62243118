"""A ledger edited by hand: every edit is found, and one that touches the end stops every release."""

from __future__ import annotations

import hashlib
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

import leastnoise as ln
from leastnoise import errors
from leastnoise.curator.budget.ledger import Ledger
from leastnoise.curator.budget.sqlite_store import SqliteStore
from leastnoise.curator.budget.state import COLUMNS as ENTRY_COLUMNS
from leastnoise.curator.budget.state import Row, root_hash
from leastnoise.curator.budget.terms import Cost
from ledger_faults import edit, forge, nothing_drawn
from spending import charge, spend


@pytest.fixture
def spent(path: Path) -> Path:
    budget = ln.Budget.open(path)
    for _ in range(12):
        spend(budget, share=0.05)
    return path


COLUMNS = ["made", "kind", "release", "query", "noise", "unit", "table", "gaussian", "pure", "threshold"]
COLUMNS += ["spent_gaussian", "spent_pure", "spent_threshold", "account", "details", "hash"]


@pytest.mark.parametrize("column", COLUMNS)
def test_an_edited_field_is_found_and_named(spent: Path, column: str) -> None:
    """Whoever opens it finds it; whoever had it open finds it by `verify`."""
    budget = ln.Budget.open(spent)
    edit(spent, f"""UPDATE entries SET "{column}" = '0' || "{column}" WHERE number = 7""")
    for look in (lambda: ln.Budget.open(spent), budget.verify, budget.history):
        with pytest.raises(errors.LedgerBroken, match="entry 7 "):
            look()


@pytest.mark.parametrize(
    ("statement", "which"),
    [
        ("DELETE FROM entries WHERE number = 5", "entry 5 "),
        ("UPDATE entries SET number = 99 WHERE number = 12", "end"),
        ("DELETE FROM entries WHERE number = 12", "end"),
        ("DELETE FROM entries", "end"),
        ("UPDATE head SET number = 11", "end"),
        ("DELETE FROM head", "end"),
        ("UPDATE entries SET gaussian = '0', spent_gaussian = '0' WHERE number = 12", "entry 12 "),
        ("UPDATE entries SET spent_gaussian = 'none' WHERE number = 12", "entry 12 "),
        ("UPDATE entries SET hash = 'x' WHERE number = 12", "entry 12 "),
        ("UPDATE terms SET value = '9' WHERE name = 'mu'", "entry 1 "),
        ("UPDATE terms SET value = 'replace' WHERE name = 'neighbours'", "entry 1 "),
        ("INSERT INTO terms VALUES ('unit', 'taxi')", "entry 1 "),
        ("DELETE FROM entries WHERE number = 1", "entry 1 "),
        ("DELETE FROM entries WHERE number = 11", "entry 1[12] "),
        ("UPDATE terms SET value = 'nine' WHERE name = 'epsilon'", "terms"),
        ("UPDATE terms SET value = '1/0' WHERE name = 'mu'", "terms"),
        ("UPDATE terms SET value = x'ff' WHERE name = 'mu'", "terms"),
        ("DELETE FROM terms", "terms"),
        ("UPDATE entries SET query = x'ff' WHERE number = 7", "entry 7 "),
        ("UPDATE entries SET query = CAST(x'ff' AS TEXT) WHERE number = 7", "damaged"),
        ("UPDATE entries SET made = 'yesterday' WHERE number = 7", "entry 7 "),
        ("UPDATE head SET hash = x'ff'", "entry 12 "),
        ("UPDATE head SET number = 'x'", "end"),
        ("DROP TABLE entries", "damaged"),
    ],
)
def test_an_edit_is_found(spent: Path, statement: str, which: str) -> None:
    edit(spent, statement)
    with pytest.raises(errors.LedgerBroken, match=which):
        ln.Budget.open(spent).verify()


def test_a_view_is_no_table_of_a_ledger(spent: Path) -> None:
    """Though it shows what the table holds: it could show anything at the next look."""
    edit(spent, "ALTER TABLE terms RENAME TO hidden", "CREATE VIEW terms AS SELECT * FROM hidden")
    with pytest.raises(errors.LedgerBroken, match="not those that leastnoise makes"):
        ln.Budget.open(spent)


def test_an_edited_end_stops_every_release(spent: Path) -> None:
    budget = ln.Budget.open(spent)
    edit(spent, "UPDATE entries SET gaussian = '0', spent_gaussian = '0' WHERE number = 12")
    with nothing_drawn(), pytest.raises(errors.LedgerBroken, match="entry 12 "):
        spend(budget, share=0.01)


def test_a_limit_beyond_its_terms_is_found(path: Path) -> None:
    """Even when the edit comes with a new chain: mu is proved again from epsilon and delta."""
    terms = Ledger(SqliteStore(path)).terms | {"mu": "1/2"}
    root = root_hash(terms)
    edit(path, "UPDATE terms SET value = '1/2' WHERE name = 'mu'", f"UPDATE head SET hash = '{root}'")
    with pytest.raises(errors.LedgerBroken, match="limit"):
        ln.Budget.open(path).verify()


LIMITS_OF_NOBODY = [
    ("mu", "-100"),  # whose square is more than that of the limit
    ("mu", "0"),
    ("epsilon", "-1"),
    ("pure_epsilon", "2"),  # more than epsilon
    ("pure_epsilon", "-5"),
    ("delta", "2"),
    ("threshold_delta", "-1/2"),
    ("threshold_delta", "1/1000000"),  # all of delta
    ("releases", "-3"),
    ("epsilon", "1e999999999"),  # which takes for ever to write out
    ("unit", "ta\0xi"),
]


def test_a_schema_that_is_no_text_is_an_error_of_ours(spent: Path) -> None:
    """Of such a name Python's sqlite3 raises UnicodeDecodeError, with the bytes in it."""
    rename = "UPDATE sqlite_master SET name = CAST(x'ff41' AS TEXT) WHERE name = 'head'"
    edit(spent, "PRAGMA writable_schema = ON", rename)
    with pytest.raises(errors.LedgerBroken, match="SQLite cannot read it"):
        ln.Budget.open(spent)


@pytest.mark.parametrize(("name", "value"), LIMITS_OF_NOBODY)
def test_limits_that_nobody_can_open_a_budget_with_are_found(path: Path, name: str, value: str) -> None:
    """Even when the edit comes with a new chain."""
    terms = Ledger(SqliteStore(path)).terms | {name: value}
    words = [word for pair in sorted(terms.items()) for word in pair]
    root = hashlib.sha256("\0".join(["", *words]).encode()).hexdigest()
    with closing(sqlite3.connect(path)) as db:
        db.execute("INSERT OR REPLACE INTO terms VALUES (?, ?)", [name, value])
        db.execute("UPDATE head SET hash = ?", [root])
        db.commit()
    with pytest.raises(errors.LedgerBroken, match=r"limit|terms"):
        ln.Budget.open(path).verify()


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("details", '{"a":' + "[" * 100_000 + "]" * 100_000 + "}"),
        ("made", "2026-01-01T00:00:00"),  # of no zone: it could be compared with no clock
    ],
)
def test_a_field_that_nothing_here_writes_is_found(spent: Path, column: str, value: str) -> None:
    """Even when the edit comes with a new hash."""
    with closing(sqlite3.connect(spent)) as db:
        *fields, _ = db.execute("SELECT * FROM entries WHERE number = 12").fetchone()
        (previous,) = db.execute("SELECT hash FROM entries WHERE number = 11").fetchone()
        fields[ENTRY_COLUMNS.index(column)] = value
        made = hashlib.sha256("\0".join([previous, *map(str, fields)]).encode()).hexdigest()
        db.executescript("DROP TRIGGER entries_stay")
        db.execute(f'UPDATE entries SET "{column}" = ?, hash = ? WHERE number = 12', [value, made])
        db.execute("UPDATE head SET hash = ?", [made])
        db.commit()
    with pytest.raises(errors.LedgerBroken, match="entry 12 "):
        ln.Budget.open(spent)


@pytest.mark.parametrize(
    ("kind", "release", "cost", "spent_after"),
    [
        ("release", "new", Cost(gaussian=5), Cost(gaussian=600 * 10**27)),  # a sum that left it out
        ("release", "new", Cost(gaussian=10**30), Cost(gaussian=1600 * 10**27)),  # past the cap
        ("release", "new", Cost(gaussian=-5), Cost(gaussian=600 * 10**27 - 5)),  # a release that gives back
        ("gift", "new", Cost(), Cost(gaussian=600 * 10**27)),
        ("close", "new", Cost(), Cost(gaussian=600 * 10**27)),  # of a release that was never made
        ("reopen", "new", Cost(), Cost(gaussian=600 * 10**27)),  # of what is not closed
    ],
)
def test_wrong_sums_are_found_though_the_chain_holds(
    spent: Path, kind: str, release: str, cost: Cost, spent_after: Cost
) -> None:
    """As a faulty program might write them: every hash is right, only the account is not."""
    budget = ln.Budget.open(spent)
    row = Row(13, "2026-01-01T00:00:00+00:00", kind, release, "q", "n", "", "", cost, spent_after)
    with pytest.raises(errors.NotProved, match="Entry 13 may not follow"):
        budget._ledger.append(lambda state, reader: row)
    forge(spent, row)
    for look in (budget.verify, lambda: budget.remaining, lambda: spend(budget, share=0.01)):
        with nothing_drawn(), pytest.raises(errors.LedgerBroken, match="entry 13 "):
            look()
    with pytest.raises(errors.LedgerBroken, match="entry 13 "):
        ln.Budget.open(spent)


@pytest.fixture
def closed(spent: Path) -> Path:
    budget = ln.Budget.open(spent)
    receipt = charge(budget, share=0.05).pay(query="counts")
    receipt.close(errors.ReadingFailed("the rows could not be read."))
    return spent


CLOSING = 14


EDITS = {
    "deleted": [f"DELETE FROM entries WHERE number = {CLOSING}"],
    "deleted, and the head set back": [
        f"DELETE FROM entries WHERE number = {CLOSING}",
        f"UPDATE head SET number = {CLOSING - 1}",
    ],
    "made a reopening": [f"UPDATE entries SET kind = 'reopen' WHERE number = {CLOSING}"],
    "made an arrival": [f"UPDATE entries SET kind = 'arrive' WHERE number = {CLOSING}"],
    "another reason": [f"UPDATE entries SET query = 'nothing happened' WHERE number = {CLOSING}"],
    "another release": [f"UPDATE entries SET release = 'another' WHERE number = {CLOSING}"],
}


@pytest.mark.parametrize("edits", EDITS.values(), ids=EDITS)
def test_an_edited_closing_is_found_and_stops_every_release(closed: Path, edits: list[str]) -> None:
    budget = ln.Budget.open(closed)
    assert budget.closed
    edit(closed, *edits)
    with nothing_drawn(), pytest.raises(errors.LedgerBroken):
        spend(budget, share=0.05)
    with pytest.raises(errors.LedgerBroken):
        ln.Budget.open(closed).verify()


@pytest.mark.parametrize("reopened", [False, True])
def test_an_edited_closing_is_found_after_the_fact(closed: Path, reopened: bool) -> None:
    budget = ln.Budget.open(closed)
    budget.reopen(reason="mended")
    for _ in range(3):
        spend(budget, share=0.05)
    kind, number = ("reopen", CLOSING + 1) if reopened else ("close", CLOSING)
    edit(closed, f"UPDATE entries SET kind = 'arrive' WHERE kind = '{kind}'")
    with pytest.raises(errors.LedgerBroken, match=f"entry {number} "):
        ln.Budget.open(closed).verify()


def test_a_release_while_closed_is_found_though_the_chain_holds(closed: Path) -> None:
    budget = ln.Budget.open(closed)
    cost, spent_before = Cost(gaussian=5), Cost(gaussian=650 * 10**27)
    row = Row(15, "2026-01-01T00:00:00+00:00", "release", "new", "q", "n", "", "", cost, spent_before + cost)
    forge(closed, row)
    with pytest.raises(errors.LedgerBroken, match="entry 15 "):
        budget.verify()


def test_entries_resist_a_plain_update(spent: Path) -> None:
    db = sqlite3.connect(spent)
    for statement in ("UPDATE entries SET gaussian = '0'", "DELETE FROM entries"):
        with pytest.raises(sqlite3.IntegrityError, match="never"):
            db.execute(statement)
    db.close()


def test_a_truncated_file_is_refused(spent: Path) -> None:
    whole = spent.read_bytes()
    for size in (len(whole) - 1, len(whole) - 4096, len(whole) // 2, 4096, 100, 1):
        spent.write_bytes(whole[:size])
        with pytest.raises(errors.FileProblem) as refused:
            ln.Budget.open(spent).verify()
        assert isinstance(refused.value, (errors.NotOurs, errors.LedgerBroken))
    spent.write_bytes(whole)
    assert ln.Budget.open(spent).verify()


def test_an_old_copy_put_back_is_noticed_by_whoever_saw_more(spent: Path, tmp_path: Path) -> None:
    shutil.copy(spent, tmp_path / "old")
    budget = ln.Budget.open(spent)
    noted = budget.verify()
    spend(budget, share=0.05)
    shutil.copy(tmp_path / "old", spent)
    with nothing_drawn(), pytest.raises(errors.LedgerBroken, match="another copy"):
        spend(budget, share=0.05)
    assert ln.Budget.open(spent).verify() == noted  # nothing in the file itself can tell


@pytest.mark.parametrize("epsilon", [1, 9])
def test_another_budget_in_its_place_is_noticed(path: Path, epsilon: int) -> None:
    budget = ln.Budget.open(path)
    path.unlink()
    ln.Budget.open(path, epsilon=epsilon, delta=1e-6)
    with nothing_drawn(), pytest.raises(errors.LedgerBroken, match="another copy"):
        spend(budget, share=0.05)


def test_a_ledger_that_vanished_is_not_begun_again(path: Path) -> None:
    budget = ln.Budget.open(path)
    path.unlink()
    with nothing_drawn(), pytest.raises(errors.FileProblem):
        spend(budget, share=0.05)
    assert not path.exists()
