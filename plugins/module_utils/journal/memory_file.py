# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The memory as a local file: the alternative to our topic, and where it goes when that cannot be written."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from ansible_collections.kafkaops.recovery.plugins.module_utils.journal.checked_file import (
    CheckedFile,
    Entry,
    damaged,
    open_checked_file,
    path_for,
    read_entries,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils.journal.leadership_memory import (
    Changes,
    Memory,
    Value,
    memory_of,
)

_SUFFIX = ".leadership"


def memory_path(directory: str, cluster_id: str) -> Path:
    """Where the memory of a cluster is. Raises JournalError."""
    return path_for(directory, cluster_id, _SUFFIX)


def read_memory_file(path: Path) -> Memory:
    """Takes no lock and creates nothing; no file is an empty memory. Raises JournalError."""
    entries, _length = read_entries(path)
    return _memory(path, entries)


@contextmanager
def open_memory_file(path: Path) -> Iterator[FileStore]:
    """Locks and opens the file, and makes sure that it can be written. Not for check mode.

    A file that holds nothing any more is removed at the end.

    Raises JournalError: another run holds it, it cannot be written, or it is damaged.
    """
    with open_checked_file(path) as file:
        store = FileStore(file)
        try:
            yield store
        finally:
            store.end()


class FileStore:
    """An open, locked memory file. Made by open_memory_file."""

    def __init__(self, file: CheckedFile) -> None:
        self._file = file
        self._records = _records(file.path, file.entries)
        self.memory = memory_of(self._records, str(file.path))

    def write(self, changes: Changes) -> None:
        self._file.append([{"key": key, "value": value} for key, value in changes.items()])
        for key, value in changes.items():
            _apply(self._records, key, value)

    def clear(self) -> None:
        """Forgets everything, since another home holds it now. Raises JournalError."""
        self.write(dict.fromkeys(self._records))

    def end(self) -> None:
        """Removes the file where it holds nothing."""
        if not memory_of(self._records, str(self._file.path)):
            self._file.remove()


def _memory(path: Path, entries: Sequence[Entry]) -> Memory:
    return memory_of(_records(path, entries), str(path))


def _records(path: Path, entries: Sequence[Entry]) -> dict[str, Value]:
    records: dict[str, Value] = {}
    for number, entry in enumerate(entries, start=1):
        try:
            _apply(records, entry["key"], entry["value"])
        except (KeyError, TypeError):
            raise damaged(path, number) from None
    return records


def _apply(records: dict[str, Value], key: str, value: Value | None) -> None:
    if value is None:
        records.pop(key, None)
    else:
        records[key] = value
