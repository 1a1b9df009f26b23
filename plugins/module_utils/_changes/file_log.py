# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A local file of JSON objects, a line with a checksum each, on disk before the caller goes on. Standard library only.

One lock a cluster, so that two runs of one host cannot meet. A torn last line is what a crash leaves while it writes,
and was never acknowledged; a bad line before the last one is damage, and is refused.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from .journal import damage_error
from .record import Entry, JournalError

_CLUSTER_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
_DIRECTORY_MODE = 0o700
_FILE_MODE = 0o600
JOURNAL = ".journal"
_LOCK = ".lock"


def default_directory() -> str:
    """Return ``$XDG_STATE_HOME/kafkaops-recovery``, or the same below ``~/.local/state``."""
    home = os.environ.get("XDG_STATE_HOME") or os.path.expanduser("~/.local/state")
    return os.path.join(home, "kafkaops-recovery")


def path_for(directory: str, cluster_id: str, suffix: str) -> Path:
    """Return where a cluster's file is.

    Raises JournalError for what is no cluster id: a broker sent it, and it becomes a file name here.
    """
    if not _CLUSTER_ID.fullmatch(cluster_id):
        raise JournalError(f"the brokers answer with {cluster_id!r}, which is not a cluster id: no journal is kept")
    return Path(directory).expanduser() / f"{cluster_id}{suffix}"


def read_entries(path: Path) -> tuple[list[Entry], int]:
    """Return the entries, and the length of the file up to the last whole line. Takes no lock and creates nothing.

    Raises JournalError.
    """
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return [], 0
    except OSError as error:
        raise JournalError(f"the journal {path} cannot be read: {error.strerror}") from None
    whole, _newline, _torn = content.rpartition(b"\n")
    entries = []
    for number, line in enumerate(whole.split(b"\n") if whole else [], start=1):
        try:
            entries.append(_entry(line))
        except ValueError:
            raise damage_error(f"the journal {path}", number) from None
    return entries, len(whole) + 1 if whole else 0


@contextmanager
def file_lock(directory: str, cluster_id: str) -> Iterator[None]:
    """Hold the lock of a cluster's files. Not for check mode.

    Raises JournalError when another run holds it, or when it cannot be written.
    """
    path = path_for(directory, cluster_id, _LOCK)
    try:
        path.parent.mkdir(mode=_DIRECTORY_MODE, parents=True, exist_ok=True)
        lock = os.open(path, os.O_RDWR | os.O_CREAT, _FILE_MODE)
    except OSError as error:
        raise _unwritable(path, error) from None
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            holder = os.read(lock, 200).decode(errors="replace").strip() or "unknown"
            raise JournalError(
                f"another run on this cluster is in progress on this host (process {holder}): wait for it to end"
            ) from None
        try:
            os.ftruncate(lock, 0)
            os.pwrite(lock, str(os.getpid()).encode(), 0)
        except OSError as error:
            raise _unwritable(path, error) from None
        try:
            yield
        finally:
            with suppress(OSError):
                os.ftruncate(lock, 0)
    finally:
        os.close(lock)


class FileLog:
    """A file that only this run writes to: the caller holds ``file_lock``.

    Raises JournalError when it is damaged, or cannot be written.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.entries, self._length = read_entries(path)
        """What was in it when it was opened."""
        try:
            path.parent.mkdir(mode=_DIRECTORY_MODE, parents=True, exist_ok=True)
            is_new = not path.exists()
            with open(path, "ab", opener=_private) as file:
                file.truncate(self._length)
                os.fsync(file.fileno())
            if is_new:
                _sync_directory(path.parent)
        except OSError as error:
            raise _unwritable(path, error) from None

    @property
    def name(self) -> str:
        return f"the journal {self.path}"

    def require_lock(self) -> None:
        """Return at once: the operating system holds the lock as long as this process lives."""

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
        except OSError as error:
            raise _unwritable(self.path, error) from None

    def clear(self) -> None:
        """Empty the file. Raises JournalError."""
        try:
            with open(self.path, "ab", opener=_private) as file:
                file.truncate(0)
                os.fsync(file.fileno())
            self._length = 0
        except OSError as error:
            raise _unwritable(self.path, error) from None

    def remove(self) -> None:
        """Remove the file. Raises JournalError."""
        try:
            self.path.unlink()
            self._length = 0
            _sync_directory(self.path.parent)
        except OSError as error:
            raise _unwritable(self.path, error) from None


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, _FILE_MODE)


def _sync_directory(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _unwritable(path: Path, error: OSError) -> JournalError:
    return JournalError(
        f"the journal {path} cannot be written: {error.strerror}; nothing is changed without it: "
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
