# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Keep a log in a local file: a JSON object with a checksum in each line. Standard library only.

An append returns when the lines are on disk. Two runs of a host on the same cluster exclude each other by a lock. A
crash may leave an incomplete last line, which was never acknowledged and is ignored. Any other bad line is an error.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import zlib
from collections.abc import Callable, Iterator, Sequence
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
    """Return the path of a cluster's file.

    Raises JournalError for an invalid cluster id: a broker sent it, and it becomes a file name.
    """
    if not _CLUSTER_ID.fullmatch(cluster_id):
        raise JournalError(f"the brokers returned {cluster_id!r}, which is not a valid cluster id for a file name")
    return Path(directory).expanduser() / f"{cluster_id}{suffix}"


def read_entries(path: Path) -> tuple[list[Entry], int]:
    """Return the entries, and the length of all complete lines. Takes no lock and creates nothing.

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

    Raises JournalError if another run holds it, or if it cannot be written.
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
    """A log file, written by this run only: the caller holds ``file_lock``.

    ``sync`` returns when a file or directory is on disk.

    Raises JournalError if the log is damaged or cannot be written.
    """

    def __init__(self, path: Path, *, sync: Callable[[int], None] = os.fsync) -> None:
        self.path = path
        self._sync = sync
        self.entries, self._length = read_entries(path)
        """The entries when the file was opened."""
        try:
            path.parent.mkdir(mode=_DIRECTORY_MODE, parents=True, exist_ok=True)
            is_new = not path.exists()
            with open(path, "ab", opener=_private) as file:
                file.truncate(self._length)
                self._sync(file.fileno())
            if is_new:
                self._sync_directory()
        except OSError as error:
            raise _unwritable(path, error) from None

    @property
    def name(self) -> str:
        return f"the journal {self.path}"

    def require_lock(self) -> None:
        """Do nothing: the operating system keeps the lock while this process lives."""

    def append(self, entries: Sequence[Entry]) -> None:
        """Append entries, and return when they are on disk. Raises JournalError."""
        if not entries:
            return
        try:
            with open(self.path, "ab", opener=_private) as file:
                if file.tell() > self._length:
                    # An earlier append has failed, for example on a full disk. Remove its incomplete line.
                    file.truncate(self._length)
                file.write(b"".join(_line(entry) for entry in entries))
                file.flush()
                self._sync(file.fileno())
                self._length = os.fstat(file.fileno()).st_size
        except OSError as error:
            raise _unwritable(self.path, error) from None

    def clear(self) -> None:
        """Empty the file. Raises JournalError."""
        try:
            with open(self.path, "ab", opener=_private) as file:
                file.truncate(0)
                self._sync(file.fileno())
            self._length = 0
        except OSError as error:
            raise _unwritable(self.path, error) from None

    def remove(self) -> None:
        """Remove the file. Raises JournalError."""
        try:
            self.path.unlink()
            self._length = 0
            self._sync_directory()
        except OSError as error:
            raise _unwritable(self.path, error) from None

    def _sync_directory(self) -> None:
        descriptor = os.open(self.path.parent, os.O_RDONLY)
        try:
            self._sync(descriptor)
        finally:
            os.close(descriptor)


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, _FILE_MODE)


def _unwritable(path: Path, error: OSError) -> JournalError:
    return JournalError(
        f"the journal {path} cannot be written: {error.strerror}. Nothing is changed without a journal: free disk "
        "space, or set journal_dir to another directory"
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
