"""Folders over a network are known by the list of mounts, and no ledger is written to one."""

from __future__ import annotations

from pathlib import Path

import pytest

import leastnoise as ln
from leastnoise import errors
from leastnoise.curator.budget import sqlite_store
from ledger_faults import nothing_drawn
from spending import spend

MOUNTS = """\
22 1 0:21 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
23 22 0:22 / /proc rw - proc proc rw
30 22 0:40 / /mnt/team rw,relatime shared:2 - nfs4 host:/export rw,vers=4.2
31 30 0:41 / /mnt/team/local rw - ext4 /dev/sdb1 rw
32 22 0:42 / /mnt/two\\040words rw - cifs //host/share rw
33 22 0:43 / /mnt/over rw - ext4 /dev/sdc1 rw
34 22 0:44 / /mnt/over rw - fuse.sshfs host: rw
a line that is none
"""


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/home/ann/city.ledger", "ext4"),
        ("/mnt/team/city.ledger", "nfs4"),
        ("/mnt/teamwork/city.ledger", "ext4"),
        ("/mnt/team/local/city.ledger", "ext4"),
        ("/mnt/two words/city.ledger", "cifs"),
        ("/mnt/over/city.ledger", "fuse.sshfs"),
    ],
)
def test_the_mount_that_holds_a_path(path: str, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mounts").write_text(MOUNTS)
    monkeypatch.setattr(sqlite_store, "MOUNTS", tmp_path / "mounts")
    assert sqlite_store.file_system(Path(path)) == kind
    monkeypatch.setattr(sqlite_store, "MOUNTS", tmp_path / "none")
    assert sqlite_store.file_system(Path(path)) == ""


def test_a_ledger_in_a_network_folder_is_read_and_not_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    budget = ln.Budget.open(tmp_path / "city.ledger", epsilon=1, delta=1e-6)
    spend(budget, share=0.1)
    mounts = Path("/proc/self/mountinfo").read_text()
    fake = tmp_path.parent / f"{tmp_path.name}-mounts"
    fake.write_text(f"{mounts}99 1 0:99 / {tmp_path} rw - nfs4 host:/export rw\n")
    monkeypatch.setattr(sqlite_store, "MOUNTS", fake)
    assert budget.remaining.share == 0.9
    with nothing_drawn(), pytest.raises(errors.FileProblem, match="network folder"):
        spend(budget, share=0.1)
    with pytest.raises(errors.FileProblem, match="network folder"):
        ln.Budget.open(tmp_path / "new.ledger", epsilon=1, delta=1e-6)
    assert [path.name for path in tmp_path.iterdir()] == ["city.ledger"]
    assert len(budget.history()) == 1
