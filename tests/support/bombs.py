"""Small files that claim, or unpack to, gigabytes. Every Parquet byte is written here, so that each may lie.

A file is a header, pages and a footer; pages and footer are Thrift records in its compact protocol, and a value here
is written by what it is: an int (i64; `Small` for i32), bytes, a list, or a dict from field numbers to values.
"""

from __future__ import annotations

import gzip
import json
import sqlite3
import struct
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from fuzzing import CANARY

DATA, DICTIONARY = 0, 2  # kinds of pages
INT64, TEXT = 2, 6  # physical types
PLAIN, RLE, RLE_DICTIONARY = 0, 3, 8
ZSTD = 6


class Small(int):
    """An integer of Thrift's 32 bits."""


def varint(number: int) -> bytes:
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes([*out, number])


def kind(value: Any) -> int:
    return next(
        code for what, code in ((Small, 5), (int, 6), (bytes, 8), (list, 9), (dict, 12)) if isinstance(value, what)
    )


def thrift(value: Any, *, claim: int | None = None) -> bytes:
    """The value; a list may claim another length than it has."""
    if isinstance(value, int):
        return varint(value << 1 if value >= 0 else (-value << 1) - 1)
    if isinstance(value, bytes):
        return varint(len(value) if claim is None else claim) + value
    if isinstance(value, list):
        count, code = len(value) if claim is None else claim, kind(value[0])
        start = bytes([count << 4 | code]) if count < 15 else bytes([0xF0 | code]) + varint(count)
        return start + b"".join(map(thrift, value))
    out, before = b"", 0
    for number, item in value.items():
        out += bytes([(number - before) << 4 | kind(item)]) + thrift(item)
        before = number
    return out + b"\0"


def page(what: dict[int, Any], content: bytes, *, which: int, unpacked: int | None = None) -> bytes:
    """One page, packed with zstd; it may claim another size than it unpacks to."""
    packed = pa.Codec("zstd").compress(content, asbytes=True)
    sizes = {1: Small(which), 2: Small(len(content) if unpacked is None else unpacked), 3: Small(len(packed))}
    return thrift(sizes | {7 if which == DICTIONARY else 5: what}) + packed


def repeated(value: int | bytes, rows: int, *, name: bytes = b"n", **lies: int) -> tuple[bytes, dict[int, Any]]:
    """A column chunk of one value over and over: a dictionary of one word, and runs. Bytes, and what the footer says.

    `lies`: `said`, the rows that the footer claims; `words`, those of the dictionary; `unpacked`, the size of its page.
    """
    word = struct.pack("<q", value) if isinstance(value, int) else struct.pack("<I", len(value)) + value
    words = {1: Small(lies.get("words", 1)), 2: Small(PLAIN)}
    body = page(words, word, which=DICTIONARY, unpacked=lies.get("unpacked"))
    start, left = len(body), rows
    while left:
        some = min(left, 2**30)
        about = {1: Small(some), 2: Small(RLE_DICTIONARY), 3: Small(RLE), 4: Small(RLE)}
        body += page(about, b"\1" + varint(some << 1) + b"\0", which=DATA)
        left -= some
    told = {
        1: Small(INT64 if isinstance(value, int) else TEXT), 2: [Small(PLAIN), Small(RLE_DICTIONARY)], 3: [name],
        4: Small(ZSTD), 5: lies.get("said", rows), 6: len(word) + 99, 7: len(body), 9: start, 11: 0,
    }  # fmt: skip
    return body, told


def parquet(*columns: tuple[bytes, dict[int, Any]], facts: bytes | None = None, said: int | None = None) -> bytes:
    """A file of one row group of required columns."""
    content, chunks, schema = b"PAR1", [], [{4: b"root", 5: Small(len(columns))}]
    for body, told in columns:
        chunks.append({2: len(content), 3: told | {9: told[9] + len(content), 11: len(content)}})
        schema.append({1: told[1], 3: Small(0), 4: told[3][0]} | ({6: Small(0)} if told[1] == TEXT else {}))
        content += body
    rows = columns[0][1][5] if said is None else said
    footer = {1: Small(1), 2: schema, 3: rows, 4: [{1: chunks, 2: len(content), 3: rows}]}
    packed = thrift(footer | ({5: [{1: b"leastnoise", 2: facts}]} if facts is not None else {}))
    return content + packed + struct.pack("<I", len(packed)) + b"PAR1"


def huge(length: int) -> bytes:
    """One value of many characters."""
    return b"x" * length


def footer_claims(length: int) -> bytes:
    good = parquet(repeated(7, 10))
    return good[:-8] + struct.pack("<I", length) + b"PAR1"


def list_claims(count: int) -> bytes:
    """A footer whose schema claims so many columns, and then ends."""
    packed = b"\x15\x02\x19" + thrift([{4: b"root", 5: Small(1)}], claim=count)
    return b"PAR1" + packed + struct.pack("<I", len(packed)) + b"PAR1"


def word_claims(length: int) -> bytes:
    """A footer with one string that claims to be so long."""
    packed = b"\x15\x02\x19\x1c\x48" + thrift(b"root", claim=length)
    return b"PAR1" + packed + struct.pack("<I", len(packed)) + b"PAR1"


def nested(depth: int) -> bytes:
    """A schema of groups in groups."""
    schema = [{4: b"root", 5: Small(1)}] + [{3: Small(0), 4: b"g", 5: Small(1)}] * depth
    packed = thrift({1: Small(1), 2: [*schema, {1: Small(INT64), 3: Small(0), 4: b"n"}], 3: 0})
    return b"PAR1" + packed + struct.pack("<I", len(packed)) + b"PAR1"


def empty_groups(count: int) -> bytes:
    """Row groups without columns, each claiming rows."""
    schema = [{4: b"root", 5: Small(1)}, {1: Small(INT64), 3: Small(0), 4: b"n"}]
    packed = thrift({1: Small(1), 2: schema, 3: 2**62, 4: [{1: [{2: 4}], 2: 0, 3: 2**40}] * count})
    return b"PAR1" + packed + struct.pack("<I", len(packed)) + b"PAR1"


def columns() -> dict[str, bytes]:
    """Parquet with columns n (whole numbers) and who (text)."""
    few, many, name = 10, 10**10, CANARY.encode()
    who = repeated(name, few, name=b"who")
    return {
        "many rows": parquet(repeated(7, many), repeated(name, many, name=b"who")),
        "rows that are not there": parquet(repeated(7, few, said=many), repeated(name, few, name=b"who", said=many)),
        "negative rows": parquet(repeated(7, few), who, said=-5),
        "a long name": parquet(repeated(7, few), repeated(huge(10**8), few, name=b"who")),
        "a long name many times": parquet(repeated(7, 10**6), repeated(huge(10**8), 10**6, name=b"who")),
        "a dictionary of many words": parquet(repeated(7, few, words=2**31 - 1), who),
        "a page that claims to unpack": parquet(repeated(7, few, unpacked=2**31 - 1), who),
        "a footer longer than the file": footer_claims(2**32 - 1),
        "a footer longer than the file by little": footer_claims(2**31 - 9),
        "a schema of many columns": list_claims(2**31 - 1),
        "a word of many letters": word_claims(2**31 - 1),
        "a deep schema": nested(100_000),
        "many empty groups": empty_groups(100_000),
    }


def vectors() -> dict[str, bytes]:
    """NumPy headers that promise more than follows."""

    def header(text: str, version: int = 1) -> bytes:
        packed = text.encode().ljust(118) + b"\n"
        size = struct.pack("<H" if version == 1 else "<I", len(packed))
        return b"\x93NUMPY" + bytes([version, 0]) + size + packed

    def shape(text: str, kind: str = "<i8") -> str:
        return f"{{'descr': {kind!r}, 'fortran_order': False, 'shape': {text}, }}"

    return {
        "2^40 numbers": header(shape("(1099511627776,)")),
        "2^27 numbers": header(shape("(134217728,)")),
        "wide numbers": header(shape("(4,)", "V2147483647")),
        "2^62 rows of none": header(shape("(4611686018427387904, 0)")),
        "a header longer than the file": b"\x93NUMPY\x02\x00" + struct.pack("<I", 2**32 - 1) + b"{",
        "a deep header": header("(" * 9000, 2),
        "a long number": header(shape("(" + "9" * 9000 + ",)"), 2),
    }


def zeros(length: int, start: bytes, piece: bytes = b"0") -> bytes:
    """The start, and then a piece over and over, packed: a megabyte is packed once, and gzip members may follow."""
    block = gzip.compress(piece * (2**20 // len(piece)), 6)
    return gzip.compress(start) + block * (length >> 20)


def packed_lines() -> dict[str, bytes]:
    """CSV in gzip, with columns who and n."""
    return {
        "one long line": zeros(2**27, b"who,n\n"),
        "a quote that never closes": zeros(2**30, b'who,n\nann,"'),
        "a header of a gigabyte": zeros(2**30, b""),
        "a word of a gigabyte in the header": zeros(2**30, b'who,n,"'),
        "a line of commas": zeros(2**24, b"who,n\n", b","),
    }


def releases(folder: Path) -> dict[str, bytes]:
    """Files of ours, with other facts: deep, long, or of more bins than there are rows."""
    import leastnoise as ln

    made = ln.table(pa.table({"who": range(60), "z": ["a", "b", "c"] * 20}), unit="who")
    query = made.histogram("z", keys=["a", "b", "c"], max_rows=1)
    query.release(epsilon=1, delta=1e-6).save(folder / "keys")
    ln.release([1] * 20, sensitivity=1, epsilon=1, delta=1e-6).denoise("james_stein").save(folder / "estimate")
    found: dict[str, bytes] = {}
    huge_axes = {
        "keys": {"type": "Keys", "size": 10**12},
        "a range": {"type": "IntegerRange", "start": 0, "stop": 10**15},
        "cells": {"type": "Steps", "low": 0, "high": 1e15, "step": 1e-3},
        "hours": {"type": "Hours", "start": "0001-01-01", "stop": "9999-01-01"},
        "nulls in nulls": json.loads('{"type": "OrNull", "axis": ' * 900 + '{"type": "Keys", "size": 3}' + "}" * 900),
    }
    for name in ("keys", "estimate"):
        table = pq.read_table(folder / name)
        facts = json.loads(table.schema.metadata[b"leastnoise"])

        def written(text: bytes, table: pa.Table = table) -> bytes:
            place = pa.BufferOutputStream()
            pq.write_table(table.replace_schema_metadata({b"leastnoise": text}), place)
            return place.getvalue().to_pybytes()

        for shape, axis in huge_axes.items():
            edited = facts | {"domain": [{"name": "z", "axis": axis}]}
            found[f"{name}: {shape}"] = written(json.dumps(edited).encode())
        asked = facts["provenance"] | {"query": "x" * 10**7}
        found[f"{name}: a long question"] = written(json.dumps(facts | {"provenance": asked}).encode())
        found[f"{name}: a deep fact"] = written(b'{"format": 1, "what": ' + b"[" * 10**5 + b"]" * 10**5 + b"}")
        found[f"{name}: a long number"] = written(b'{"format": ' + b"9" * 10**6 + b', "what": "release"}')
        text = json.dumps(facts).encode()
        value = next(column for column in table.column_names if column in ("value", "mean", "values"))
        found[f"{name}: many rows"] = parquet(repeated(7, 10**10, name=value.encode()), facts=text)
        found[f"{name}: a long key"] = parquet(
            repeated(7, 10**6, name=value.encode()), repeated(huge(10**8), 10**6, name=b"z"), facts=text
        )
    return found


def ledgers(folder: Path) -> dict[str, bytes]:
    """SQLite files of a few kilobytes: tables that are views without end, cells that are computed."""
    import leastnoise as ln

    path = folder / "bomb.ledger"
    endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT"
    edits = {
        "terms without end": f"DROP TABLE terms; CREATE VIEW terms AS {endless} i || 'x' AS name, 'y' AS value FROM n",
        "a term of a gigabyte": "DROP TABLE terms; CREATE VIEW terms AS "
        "SELECT 'a' AS name, hex(zeroblob(450000000)) AS value",
        "a computed term": "DROP TABLE terms; "
        "CREATE TABLE terms (name TEXT, value TEXT AS (hex(zeroblob(450000000)))); "
        "INSERT INTO terms (name) VALUES ('epsilon')",
        "entries without end": "DROP TABLE entries; "
        f"CREATE VIEW entries AS {endless} i AS number, '' AS made, '' AS kind, "
        "'' AS release, '' AS query, '' AS noise, '' AS unit, '' AS \"table\", '1' AS gaussian, '1' AS pure, "
        "'1' AS threshold, '1' AS spent_gaussian, '1' AS spent_pure, '1' AS spent_threshold, '' AS hash FROM n",
        "a head without end": f"DROP TABLE head; CREATE VIEW head AS {endless} i AS number, 'x' AS hash FROM n",
        "a trigger without end": "CREATE TRIGGER more AFTER INSERT ON entries "
        f"BEGIN INSERT INTO terms {endless} i, i FROM n; END",
        "a long note": "INSERT INTO terms VALUES ('note', hex(zeroblob(20000000)))",
    }
    found = {}
    for name, edit in edits.items():
        ln.Budget.open(path, epsilon=1, delta=1e-6)
        with sqlite3.connect(path) as db:
            db.executescript("PRAGMA writable_schema = ON; " + edit)
        db.close()
        found[name] = path.read_bytes()
        path.unlink()
    ln.Budget.open(path, epsilon=1, delta=1e-6)
    whole = path.read_bytes()
    path.unlink()
    found["pages that are not there"] = whole[:28] + struct.pack(">I", 2**31 - 1) + whole[32:]
    found["a page size of nothing"] = whole[:16] + b"\0\0" + whole[18:]
    return found
