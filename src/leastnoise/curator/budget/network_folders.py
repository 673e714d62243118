"""Is a file in a network folder? The system's list of mounts says.

Two machines that write to one file are kept apart by its locks. Over NFS, SMB and the like a lock may be given to both,
or be lost when the server restarts, and both would spend the same part of a budget; a sync may return before anything
is on a disk. What cannot be known: a file system that calls itself local and is not (9p and virtiofs, by which virtual
machines and some containers see their host), and a machine without such a list.
"""

from __future__ import annotations

from pathlib import Path

from leastnoise import errors

MOUNTS = Path("/proc/self/mountinfo")
_NETWORK = {
    "nfs", "nfs4", "cifs", "smb3", "smbfs", "ncpfs", "afs", "coda", "davfs", "glusterfs", "beegfs", "ceph",
    "fuse.sshfs", "fuse.s3fs", "fuse.gcsfuse", "fuse.rclone", "fuse.mount-s3", "fuse.blobfuse", "fuse.blobfuse2",
    "fuse.glusterfs", "fuse.ceph-fuse", "fuse.curlftpfs", "fuse.davfs2", "fuse.goofys", "fuse.juicefs",
}  # fmt: skip


def check(path: Path) -> None:
    """Refuse to write a ledger into a network folder."""
    kind = file_system(path)
    if kind in _NETWORK:
        raise errors.FileProblem(
            f"The ledger {str(path)!r} is in a network folder ({kind}), whose locks cannot be trusted: two machines "
            "could spend the same part of the budget. Nothing was debited and nothing released. Copy it to a local "
            "disk while nobody uses it; for several machines carry it over from there to PostgreSQL, with "
            "leastnoise budget move"
        )


def file_system(path: Path) -> str:
    """The kind of the mount that holds this path, such as ext4 or nfs4; "" where nobody can say."""
    try:
        lines = MOUNTS.read_text(errors="replace").splitlines()
    except OSError:
        return ""
    found = [(mount, kind) for mount, kind in map(_mount, lines) if mount is not None and path.is_relative_to(mount)]
    # The longest one holds the path; of several at one place the last was mounted over the others.
    longest = max((len(mount.parts) for mount, _ in found), default=0)
    return next((kind for mount, kind in reversed(found) if len(mount.parts) == longest), "")


def _mount(line: str) -> tuple[Path | None, str]:
    """Where, and of which kind: "36 35 98:0 / /mnt rw,noatime master:1 - ext3 /dev/root rw"."""
    before, dash, after = line.partition(" - ")
    fields = before.split(" ")
    if not dash or len(fields) < 5:
        return None, ""
    place = fields[4].encode("latin-1", "replace").decode("unicode_escape")  # a space is written \040
    return Path(place), after.split(" ")[0]
