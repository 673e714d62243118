"""`leastnoise demo`, from the command to the prompt: what a newcomer waits for."""

from __future__ import annotations

import subprocess
import sys

from findings import Findings, Headline, Table, timings
from stopwatch import Contestant, race


def run(*, toy: bool = False) -> Findings:
    def command(*words: str) -> Contestant:
        return lambda: subprocess.run([sys.executable, "-m", "leastnoise", *words], check=True, capture_output=True)

    contestants = {"leastnoise --help": command("--help")}
    if not toy:
        contestants["leastnoise demo"] = command("demo")
    seen = race(contestants, rounds=2 if toy else 3)
    heads: Findings = []
    if not toy:
        heads = [Headline("`leastnoise demo`, seconds", seen["leastnoise demo"].median)]
    return [*heads, Table("demo", "From the command to the prompt:", timings(seen, reference="leastnoise --help"))]
