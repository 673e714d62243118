"""The tables of a budget on a server, and the one function by which an analyst writes to them.

Every budget has a schema of its own, leastnoise_NAME, which belongs to the role that made it: the owner. An analyst may
look (SELECT) and may call append_entry, which runs with the owner's rights and appends a debit, or the closing that
follows when rows could not be read, and nothing else: the next number, the hash that continues the chain, no negative
amount, sums that are right, no cap passed, under the caller's own name, at the server's time. So an analyst can neither
give anything back nor reopen nor allocate: those entries the owner inserts.

So the function judges a debit as the fold over all entries does (`state.py`), and an index finds each entry that says
something of it, so that it takes no longer when there are many.

The function cannot know what a release truly costs: who has the rows could publish more than was paid for. It keeps the
account; that what is released is what was paid for is up to the code that releases.

append_entry computes the hash itself from the fields, from the very bytes that `state.chained_hash` hashes, and takes
details only as `state.written_details` writes them, so that no caller can write an entry that `verify` does not accept.
"""

from __future__ import annotations

import re

from leastnoise.curator.budget.state import AMOUNTS, COLUMNS

FORMAT = 1  # as that of a file
MARK = f"a privacy budget of leastnoise, format {FORMAT}"
FAILED = "rows could not be read"  # why a failed reading closes
CLOCK_SECONDS = 300  # by which an entry may differ from the server's clock
MAX_CHARACTERS = 2**20  # of a field, as in a file: who hashes a longer one lets the others wait

_FIELDS = ",\n    ".join(
    f'"{name}" {"bigint PRIMARY KEY" if name == "number" else "text NOT NULL"}' for name in COLUMNS
)
_LISTED = ", ".join(f'"{name}"' for name in COLUMNS)
_PLACE = {name: place for place, name in enumerate(COLUMNS, start=1)}
_COSTS = ", ".join(f"fields[{_PLACE[name]}]::numeric" for name in AMOUNTS)
_SUMS = ", ".join(f"fields[{_PLACE[f'spent_{name}']}]::numeric" for name in AMOUNTS)
_SPENT = ", ".join(f"e.spent_{name}::numeric" for name in AMOUNTS)
_FIRST_AMOUNT, _LAST_AMOUNT = _PLACE[AMOUNTS[0]], _PLACE[f"spent_{AMOUNTS[-1]}"]
_TIME = 'YYYY-MM-DD"T"HH24:MI:SS.MS"+00:00"'  # as `state.written_time` has it
_CLOSINGS = "kind IN ('close', 'reopen')"


def schema_name(budget: str) -> str:
    """The schema of the budget of this name (small letters, digits and _ alone: `postgres_url` saw to it)."""
    return f"leastnoise_{budget}"


def statements(budget: str) -> list[str]:
    """What makes an empty ledger, in the order in which it is run, in one transaction."""
    schema = schema_name(budget)
    return [
        f"CREATE SCHEMA {schema}",
        f"COMMENT ON SCHEMA {schema} IS '{MARK}'",
        f"CREATE TABLE {schema}.terms (name text PRIMARY KEY, value text NOT NULL)",
        f"CREATE TABLE {schema}.caps (name text PRIMARY KEY, value text NOT NULL)",  # what the terms allow, in atoms
        f"CREATE TABLE {schema}.entries (\n    {_FIELDS},\n    hash text NOT NULL\n)",
        f"CREATE INDEX entries_by_account ON {schema}.entries (account, number)",
        f"CREATE INDEX entries_by_release ON {schema}.entries (release)",
        f"CREATE INDEX closings ON {schema}.entries (number) WHERE {_CLOSINGS}",
        f"CREATE TABLE {schema}.head (number bigint NOT NULL, hash text NOT NULL)",
        _STAYS.format(schema=schema),
        _TRIGGER.format(schema=schema),
        _APPEND.format(schema=schema),
        f"REVOKE ALL ON FUNCTION {schema}.append_entry(text[]) FROM PUBLIC",
    ]


def columns() -> set[tuple[str, str, str, str]]:
    """(table, its kind, column, type) of everything that is read."""
    found = {("terms", "r", name, "text") for name in ("name", "value")}
    found |= {("caps", "r", name, "text") for name in ("name", "value")}
    found |= {("entries", "r", name, "bigint" if name == "number" else "text") for name in (*COLUMNS, "hash")}
    return found | {("head", "r", "number", "bigint"), ("head", "r", "hash", "text")}


_STAYS = """
CREATE FUNCTION {schema}.entries_stay() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $body$
BEGIN
    RAISE EXCEPTION 'entries are never changed';
END $body$
"""

_TRIGGER = """
CREATE TRIGGER entries_stay BEFORE UPDATE OR DELETE OR TRUNCATE ON {schema}.entries
FOR EACH STATEMENT EXECUTE FUNCTION {schema}.entries_stay()
"""

_APPEND = f"""
CREATE FUNCTION {{schema}}.append_entry(fields text[]) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $body$
DECLARE
    ending record;
    made timestamptz;
    allocation record;
    facts jsonb;
    before numeric[];
    caps numeric[];
    closed boolean;
    new_hash text;
    written text;
BEGIN
    SELECT * INTO STRICT ending FROM {{schema}}.head FOR UPDATE;
    IF array_ndims(fields) IS DISTINCT FROM 1 OR array_length(fields, 1) <> {len(COLUMNS)}
            OR array_position(fields, NULL) IS NOT NULL THEN
        RAISE EXCEPTION 'an entry has {len(COLUMNS)} fields';
    END IF;
    IF fields[1] <> (ending.number + 1)::text THEN
        RAISE EXCEPTION 'the next entry is number %', ending.number + 1 USING ERRCODE = 'serialization_failure';
    END IF;
    FOREACH written IN ARRAY fields LOOP
        IF length(written) > {MAX_CHARACTERS} THEN
            RAISE EXCEPTION 'a field is too long';
        END IF;
    END LOOP;
    made := fields[{_PLACE["made"]}]::timestamptz;
    -- 'now' is a time too, and so is a second 60; neither is what Python writes, nor what it reads
    IF to_char(made AT TIME ZONE 'UTC', '{_TIME}') IS DISTINCT FROM fields[{_PLACE["made"]}] THEN
        RAISE EXCEPTION 'the entry is not of this time';
    END IF;
    IF abs(extract(epoch FROM clock_timestamp() - made)) > {CLOCK_SECONDS} THEN
        RAISE EXCEPTION 'the entry is not of this time';
    END IF;
    FOR place IN {_FIRST_AMOUNT} .. {_LAST_AMOUNT} LOOP
        IF fields[place] !~ '^(0|[1-9][0-9]{{{{0,59}}}})$' THEN
            RAISE EXCEPTION 'an amount is a whole number, 0 or more';
        END IF;
    END LOOP;
    facts := nullif(fields[{_PLACE["details"]}], '')::jsonb;
    IF facts IS NULL OR facts ->> 'who' IS DISTINCT FROM session_user::text THEN
        RAISE EXCEPTION 'an entry is written under the name of its role';
    END IF;
    SELECT string_agg(to_json(name) || ':' || to_json(nullif(facts ->> name, '')), ',' ORDER BY name)
        INTO written FROM unnest(ARRAY['file', 'note', 'who']) AS name WHERE facts ? name;
    IF '{{{{' || written || '}}}}' IS DISTINCT FROM fields[{_PLACE["details"]}] THEN
        RAISE EXCEPTION 'the details are not as they are written';
    END IF;

    SELECT ARRAY[{_SPENT}] INTO before FROM {{schema}}.entries AS e
        WHERE e.account = fields[{_PLACE["account"]}] ORDER BY e.number DESC LIMIT 1;
    before := coalesce(before, ARRAY[0, 0, 0]::numeric[]);
    FOR part IN 1 .. {len(AMOUNTS)} LOOP
        IF (ARRAY[{_SUMS}])[part] <> before[part] + (ARRAY[{_COSTS}])[part] THEN
            RAISE EXCEPTION 'a sum is wrong';
        END IF;
    END LOOP;
    SELECT e.kind = 'move' INTO closed FROM {{schema}}.entries AS e ORDER BY e.number DESC LIMIT 1;
    IF closed THEN
        RAISE EXCEPTION 'the budget was moved elsewhere';
    END IF;

    IF fields[{_PLACE["kind"]}] = 'close' THEN
        IF fields[{_PLACE["query"]}] <> '{FAILED}' OR ARRAY[{_COSTS}] <> ARRAY[0, 0, 0]::numeric[]
                OR fields[{_PLACE["account"]}] <> '' OR NOT EXISTS (
                SELECT FROM {{schema}}.entries AS e
                WHERE e.kind = 'release' AND e.release = fields[{_PLACE["release"]}]) THEN
            RAISE EXCEPTION 'only the owner closes a budget for another reason than a failed reading';
        END IF;
    ELSIF fields[{_PLACE["kind"]}] = 'release' THEN
        SELECT e.kind = 'close' INTO closed FROM {{schema}}.entries AS e
            WHERE e.{_CLOSINGS} ORDER BY e.number DESC LIMIT 1;
        IF closed THEN
            RAISE EXCEPTION 'the budget is closed';
        END IF;
        IF EXISTS (SELECT FROM {{schema}}.entries AS e
                WHERE e.kind = 'release' AND e.release = fields[{_PLACE["release"]}]) THEN
            RAISE EXCEPTION 'this release is paid for';
        END IF;
        SELECT ARRAY[g.value::numeric, p.value::numeric, t.value::numeric] INTO STRICT caps
            FROM {{schema}}.caps g, {{schema}}.caps p, {{schema}}.caps t
            WHERE g.name = 'gaussian' AND p.name = 'pure' AND t.name = 'threshold';
        IF fields[{_PLACE["account"]}] <> '' THEN
            SELECT e.gaussian, e.pure, e.threshold, e.details::jsonb AS facts INTO allocation
                FROM {{schema}}.entries AS e
                WHERE e.kind = 'allocate' AND e.release = fields[{_PLACE["account"]}];
            IF NOT FOUND OR EXISTS (SELECT FROM {{schema}}.entries AS e
                    WHERE e.kind = 'return' AND e.release = fields[{_PLACE["account"]}]) THEN
                RAISE EXCEPTION 'there is no such allocation to spend from';
            END IF;
            IF allocation.facts ? 'people' AND NOT allocation.facts -> 'people' ? session_user::text THEN
                RAISE EXCEPTION 'this allocation is for other people';
            END IF;
            IF allocation.facts ? 'expires' AND clock_timestamp() >= (allocation.facts ->> 'expires')::timestamptz THEN
                RAISE EXCEPTION 'this allocation has expired';
            END IF;
            caps := ARRAY[allocation.gaussian::numeric, allocation.pure::numeric, allocation.threshold::numeric];
        END IF;
        before := ARRAY[{_SUMS}];
        IF NOT (before[1] <= caps[1] AND before[2] <= caps[2] AND before[3] <= caps[3]) THEN
            RAISE EXCEPTION 'more than is left';
        END IF;
    ELSE
        RAISE EXCEPTION 'only the owner writes other entries than releases';
    END IF;

    SELECT encode(sha256(string_agg(convert_to(word, 'UTF8'), decode('00', 'hex') ORDER BY place)), 'hex')
        INTO new_hash FROM unnest(ending.hash || fields) WITH ORDINALITY AS each(word, place);
    INSERT INTO {{schema}}.entries ({_LISTED}, hash)
        VALUES (fields[1]::bigint, {", ".join(f"fields[{place}]" for place in range(2, len(COLUMNS) + 1))}, new_hash);
    UPDATE {{schema}}.head SET number = ending.number + 1, hash = new_hash;
    RETURN new_hash;
END $body$
"""

# What the function says of an entry that it refuses, for people.
REFUSALS = frozenset(re.findall(r"RAISE EXCEPTION '([^'%]+)'", _STAYS + _APPEND))
