"""A budget on a PostgreSQL server that eight processes spend from, round after round: kills, crashes and cut wires.

LEASTNOISE_SOAK_MINUTES says how long; without it one short round is run with the tests of the budget, and none here.
"""

from __future__ import annotations

import json
import os
import random
import time
from pathlib import Path
from typing import Any

import pytest

import leastnoise as ln
from cutting_proxy import CuttingProxy
from postgres_server import Server
from server_spending import Team

pytestmark = pytest.mark.slow

SECONDS = 60 * float(os.environ.get("LEASTNOISE_SOAK_MINUTES", "0"))
ENTRIES, PROCESSES = 200, 8


def test_rounds_of_kills_crashes_and_cuts_spend_exactly_the_budget(tmp_path: Path) -> None:
    if not SECONDS:
        pytest.skip("make soak runs it; a short round is tests/curator/budget/postgres/test_server_ledger.py")
    chance, end = random.Random(20180712), time.monotonic() + SECONDS
    told: list[Any] = []
    with Server() as server:
        while time.monotonic() < end or not told:
            told.append(one_round(server, f"round{len(told)}", tmp_path, chance))
    print(json.dumps({"rounds": len(told), **{key: sum(each[key] for each in told) for key in told[0]}}))


def one_round(server: Server, name: str, folder: Path, chance: random.Random) -> dict[str, int]:
    place = folder / name
    place.mkdir()
    proxy = CuttingProxy(server.port, every=chance.randint(3, 9))
    url = server.url(name)
    budget = ln.Budget.open(url, epsilon=1, delta=1e-6)
    wire = url.replace(str(server.port), str(proxy.port)) + "&sslmode=disable"
    team = Team([url] * 5 + [wire] * 3, place, share=f"1/{ENTRIES}")
    moments = sorted(chance.sample(range(5, ENTRIES // 2), PROCESSES // 2))
    crashes = set(chance.sample(moments, 2))
    for victim, moment in zip(chance.sample(team.processes, PROCESSES // 2), moments, strict=True):
        team.wait_for(moment)
        victim.kill()
        if moment in crashes:
            server.kill()
            server.start()
    exits = team.finish()
    proxy.close()
    paid, returned = [entry.release for entry in budget.history()], team.returned()
    assert sorted(map(int, exits)) == [-9] * 4 + [0] * 4, exits
    assert len(paid) == len(set(paid)) == ENTRIES  # none doubled, and exactly the budget
    assert set(returned) <= set(paid)  # none lost
    assert budget.verify()
    return {"paid": len(paid), "returned": len(returned), "kills": 4, "crashes": 2, "cuts": proxy.cuts}
