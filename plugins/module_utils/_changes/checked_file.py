# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What was changed, and how to undo it. Standard library only.

A local file of JSON objects, a checksummed line each, on disk before we go on. Standard library only.

One file a cluster, with a lock beside it, so that two runs from here cannot meet. A torn last line is what a crash
while writing leaves, and was never acknowledged; a bad line before the last one is damage, and is refused.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from .record import JournalError

_CLUSTER_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
_DIRECTORY_MODE = 0o700
_FILE_MODE = 0o600

Entry = dict[str, Any]


def default_directory() -> str:
    """``$XDG_STATE_HOME/kafkaops-recovery``, or the same below ``~/.local/state``."""
    home = os.environ.get("XDG_STATE_HOME") or os.path.expanduser("~/.local/state")
    return os.path.join(home, "kafkaops-recovery")


def path_for(directory: str, cluster_id: str, suffix: str) -> Path:
    """Where a cluster's file is.

    Raises JournalError for what is no cluster id: it is a broker's word, and becomes a file name here.
    """
    if not _CLUSTER_ID.fullmatch(cluster_id):
        raise JournalError(
            f"the cluster calls itself {cluster_id!r}, which is no cluster id: no journal is kept for it"
        )
    return Path(directory).expanduser() / f"{cluster_id}{suffix}"


def read_entries(path: Path) -> tuple[list[Entry], int]:
    """Return the entries, and the length of the file up to the last whole line. Takes no lock and creates nothing.

    Raises JournalError.
    """
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return [], 0
    except OSError as fault:
        raise JournalError(f"the journal {path} cannot be read: {fault.strerror}") from None
    whole, _newline, _torn = content.rpartition(b"\n")
    entries = []
    for number, line in enumerate(whole.split(b"\n") if whole else [], start=1):
        try:
            entries.append(_entry(line))
        except ValueError:
            raise damaged(path, number) from None
    return entries, len(whole) + 1 if whole else 0


def damaged(path: Path, number: int) -> JournalError:
    """Return the error for a line, counted from 1, that is not what was written there."""
    return JournalError(
        f"the journal {path} is damaged in line {number}: nothing is changed before a person has looked at it; "
        "compare the replica orders it names with the cluster, then move it away"
    )


@contextmanager
def open_checked_file(path: Path) -> Iterator[CheckedFile]:
    """Locks and opens a file, and makes sure that it can be written. Not for check mode.

    Raises JournalError: another run holds it, it cannot be written, or it is damaged.
    """
    try:
        path.parent.mkdir(mode=_DIRECTORY_MODE, parents=True, exist_ok=True)
        lock = os.open(path.with_suffix(".lock"), os.O_RDWR | os.O_CREAT, _FILE_MODE)
    except OSError as fault:
        raise _unwritable(path, fault) from None
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            holder = os.read(lock, 200).decode(errors="replace").strip() or "unknown"
            raise JournalError(
                f"another run on this cluster is in progress here (process {holder}): wait for it to end"
            ) from None
        try:
            os.ftruncate(lock, 0)
            os.pwrite(lock, str(os.getpid()).encode(), 0)
        except OSError as fault:
            raise _unwritable(path, fault) from None
        yield CheckedFile(path)
    finally:
        os.close(lock)


class CheckedFile:
    """An open, locked file. Made by open_checked_file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.entries, self._length = read_entries(path)
        """What was in it when it was opened."""
        try:
            is_new = not path.exists()
            # The lock is held, so a torn last line is nobody's work in progress and can go.
            with open(path, "ab", opener=_private) as file:
                file.truncate(self._length)
                os.fsync(file.fileno())
            if is_new:
                _sync_directory(path.parent)
        except OSError as fault:
            raise _unwritable(path, fault) from None

    def append(self, entries: Sequence[Entry]) -> None:
        """Return once the entries are on disk. Raises JournalError."""
        if not entries:
            return
        try:
            with open(self.path, "ab", opener=_private) as file:
                if file.tell() > self._length:
                    # What an append to a full disk left would be damage in the middle once a line follows it.
                    file.truncate(self._length)
                file.write(b"".join(_line(entry) for entry in entries))
                file.flush()
                os.fsync(file.fileno())
                self._length = os.fstat(file.fileno()).st_size
        except OSError as fault:
            raise _unwritable(self.path, fault) from None

    def remove(self) -> None:
        """Remove the file, for good. Raises JournalError."""
        try:
            self.path.unlink()
            self._length = 0
            _sync_directory(self.path.parent)
        except OSError as fault:
            raise _unwritable(self.path, fault) from None


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, _FILE_MODE)


def _sync_directory(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _unwritable(path: Path, fault: OSError) -> JournalError:
    return JournalError(
        f"the journal {path} cannot be written: {fault.strerror}; nothing is changed without it: "
        "make room or set journal_dir"
    )


def _line(entry: Entry) -> bytes:
    text = json.dumps(entry, separators=(",", ":")).encode()
    return b"%08x %s\n" % (zlib.crc32(text), text)


def _entry(line: bytes) -> Entry:
    checksum, _space, text = line.partition(b" ")
    if int(checksum, 16) != zlib.crc32(text):
        raise ValueError("checksum")
    entry: Entry = json.loads(text)
    return entry
