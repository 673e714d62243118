"""The temporary folder of one DuckDB, for rows that do not fit into memory: nobody finds them there afterwards."""

from __future__ import annotations

import fcntl
import glob
import os
import shutil
import stat
import tempfile
from contextlib import suppress

from leastnoise._support import atomic_files


def make() -> tuple[str, int]:
    """A temporary folder that others can see is in use; those of killed processes hold people's rows, and are removed.

    The lock is the kernel's, on a file inside: it ends with the process, however that ends.
    """
    for left in glob.glob(os.path.join(glob.escape(tempfile.gettempdir()), "leastnoise-*", "in-use")):
        with suppress(OSError):
            _remove_left(left)
    # Until its lock is held, a folder has a name that no other process cleans up.
    made = tempfile.mkdtemp(prefix="starting-leastnoise-")
    folder = os.path.join(os.path.dirname(made), os.path.basename(made).removeprefix("starting-"))
    atomic_files.temporary.update((made, folder))
    held = os.open(os.path.join(made, "in-use"), os.O_CREAT | os.O_WRONLY, 0o600)
    fcntl.flock(held, fcntl.LOCK_EX)
    os.rename(made, folder)
    atomic_files.temporary.discard(made)
    return folder, held


def _remove_left(name: str) -> None:
    """Remove a folder whose lock nobody holds. Others may put anything there: a pipe would be waited for, and another
    user's file is none of ours."""
    lock = os.open(name, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        found = os.fstat(lock)
        if stat.S_ISREG(found.st_mode) and found.st_uid == os.geteuid():
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(os.path.dirname(name), ignore_errors=True)
    finally:
        os.close(lock)


def remove(folder: str, held: int) -> None:
    """The folder and its lock, when it is no longer needed."""
    shutil.rmtree(folder, ignore_errors=True)
    atomic_files.temporary.discard(folder)
    os.close(held)
