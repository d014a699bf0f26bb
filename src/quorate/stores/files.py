"""What surrounds a database file: who may buy with it, how far it had come, and whether there is room."""

from __future__ import annotations

import fcntl
import os
import struct
from contextlib import suppress
from pathlib import Path
from resource import RLIM_INFINITY, RLIMIT_FSIZE, getrlimit
from typing import Final
from zlib import crc32

from quorate.errors import StoreDamaged, StoreError, StoreLocked
from quorate.stores.head import Head

_NETWORK: Final = {"nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "afs", "ceph", "lustre", "glusterfs", "fuse.sshfs"}
_SLOT: Final = 64  # bytes: slot 0 holds the buyer's process id, slot c where campaign c stands
_STAND: Final = struct.Struct("<24sQQI")


def refuse_network(path: Path, mounts: str | None = None) -> None:
    """SQLite's locks and shared memory do not work over a network file system.

    ``mounts`` is the text of /proc/self/mountinfo; a system without it is not looked at.
    """
    if mounts is None:
        try:
            mounts = Path("/proc/self/mountinfo").read_text(encoding="utf-8")
        except OSError:
            return
    where = path.resolve().parent
    best, kind = -1, ""
    for line in mounts.splitlines():
        left, _, right = line.partition(" - ")
        point = left.split()[4].encode().decode("unicode_escape")
        if (where == Path(point) or Path(point) in where.parents) and len(point) >= best:
            best, kind = len(point), right.split()[0]
    if kind in _NETWORK:
        raise StoreError(
            f"{path} lies on a network file system ({kind}), where SQLite can lose data.",
            hint="Put the file on a local disk, or use postgresql:// for many machines.",
        )


def room(path: Path) -> int:
    """Bytes that the file can still grow by: free space on its disk, and this process's limit."""
    disk = os.statvfs(path.parent)
    limits = [disk.f_bavail * disk.f_frsize]
    limit = getrlimit(RLIMIT_FSIZE)[0]
    if limit != RLIM_INFINITY:
        sizes = [one.stat().st_size for one in (path, Path(f"{path}-wal")) if one.exists()]
        limits.append(limit - max(sizes, default=0))
    return min(limits)


class Companion:
    """The file ``….db-engine`` next to a database: its lock says who buys, its slots how far each ledger had come.

    It is written after each commit and never waits for the disk: so it may be behind the database, never ahead —
    unless the database lost something: its ``-wal`` was deleted, or another file was put in its place.
    """

    def __init__(self, database: Path) -> None:
        self.path = Path(f"{database}-engine")
        self._database = database
        try:
            self._file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except FileNotFoundError:
            raise StoreError(
                f"There is no folder {database.parent} for the store {database.name}.",
                hint="Make it first, or name another place.",
            ) from None
        except OSError as error:
            raise StoreError(
                f"{self.path} cannot be written: {error.strerror}.",
                hint="Buying needs to write next to the database; to look only, open it read-only.",
            ) from None
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            holder = os.pread(self._file, _SLOT, 0).rstrip(b"\0 ").decode("ascii", "replace") or "unknown"
            os.close(self._file)
            raise StoreLocked(
                f"{database} is open for buying in another process (pid {holder}).",
                hint="Only one process buys with a SQLite file, or changes it: wait, or stop that one with Ctrl-C,"
                " which loses nothing, and start it again later.  For several, use postgresql://.",
            ) from None
        os.pwrite(self._file, str(os.getpid()).encode().ljust(_SLOT), 0)

    def write(self, head: Head) -> None:
        """This campaign's ledger has come to here, durably."""
        body = _STAND.pack(head.uid.encode(), head.seq, head.digest, 0)[:-4]
        with suppress(OSError):  # a full disk: then it is behind, which it may be; the commit stands
            os.pwrite(self._file, (body + struct.pack("<I", crc32(body))).ljust(_SLOT, b"\0"), head.id * _SLOT)

    def forget(self) -> None:
        """Where the ledgers stood is of no concern any more."""
        os.ftruncate(self._file, _SLOT)

    def close(self) -> None:
        with suppress(OSError):
            os.pwrite(self._file, b" " * _SLOT, 0)
        os.close(self._file)


def stands(database: Path) -> dict[int, tuple[str, int, int]]:
    """Campaign number -> (uid, seq, digest) as the companion has them; slots that were torn are left out."""
    try:
        data = Path(f"{database}-engine").read_bytes()
    except FileNotFoundError:
        return {}
    found = {}
    for number in range(1, len(data) // _SLOT):
        body = data[number * _SLOT : number * _SLOT + _STAND.size]
        uid, seq, digest, check = _STAND.unpack(body)
        if check == crc32(body[:-4]) and uid.strip(b"\0"):
            found[number] = (uid.rstrip(b"\0").decode("ascii", "replace"), seq, digest)
    return found


def refuse_rollback(database: Path, stood: dict[int, tuple[str, int, int]], heads: list[Head]) -> None:
    """Refuse a database that has less than its companion saw it acknowledge."""
    there = {head.id: head for head in heads}
    for number, (uid, seq, digest) in stood.items():
        head = there.get(number)
        if head is None or head.uid != uid:
            lost = f"table 'campaign', row {number} (uid {uid!r}) is missing"
        elif head.seq < seq:
            lost = f"campaign {head.name!r} had {seq} rows and has {head.seq}: row {head.seq + 1} is missing"
        elif head.seq == seq and head.digest != digest:
            lost = f"campaign {head.name!r} holds other rows than were written: row {seq} of its ledger differs"
        else:
            continue
        raise StoreDamaged(
            f"{database} is not the file that was bought with last: {lost}.",
            hint="Its -wal file was deleted, or another or older copy put in its place.  Put the right files back."
            "  If you restored a copy on purpose, say so: quorate doctor --restored, in Python store.restored().",
        )
