# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The journal of elections as a local file: changed replica orders, until they are back. Standard library only."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from ansible_collections.kafkaops.recovery.plugins.module_utils.journal.checked_file import (
    CheckedFile,
    Entry,
    damaged,
    default_directory,
    open_checked_file,
    path_for,
    read_entries,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils.journal.order_change import OrderChange
from ansible_collections.kafkaops.recovery.plugins.module_utils.model.partition import TopicPartition

__all__ = ["FileJournal", "default_directory", "open_journal", "read_unfinished"]

_SUFFIX = ".journal"


def read_unfinished(directory: str, cluster_id: str) -> tuple[OrderChange, ...]:
    """What the journal of a cluster holds to be undone. Takes no lock and creates nothing.

    Raises JournalError.
    """
    path = path_for(directory, cluster_id, _SUFFIX)
    entries, _length = read_entries(path)
    return _sorted(_changes(path, entries))


@contextmanager
def open_journal(directory: str, cluster_id: str) -> Iterator[FileJournal]:
    """Locks and opens the journal of a cluster, and makes sure that it can be written. Not for check mode.

    Raises JournalError: another run holds it, it cannot be written, or it is damaged.
    """
    with open_checked_file(path_for(directory, cluster_id, _SUFFIX)) as file:
        yield FileJournal(file)


class FileJournal:
    """An open, locked journal file. Made by open_journal."""

    def __init__(self, file: CheckedFile) -> None:
        self._file = file
        self._changes = _changes(file.path, file.entries)

    @property
    def unfinished(self) -> Sequence[OrderChange]:
        return _sorted(self._changes)

    def begin(self, changes: Iterable[OrderChange]) -> None:
        changes = list(changes)
        self._file.append([_begin_entry(each) for each in changes])
        self._changes |= {each.topic_partition: each for each in changes}

    def end(self, partitions: Iterable[TopicPartition], why: str) -> None:
        known = [each for each in partitions if each in self._changes]
        self._file.append([{"end": {"topic": each.topic, "partition": each.partition}, "why": why} for each in known])
        for each in known:
            del self._changes[each]


def _sorted(changes: dict[TopicPartition, OrderChange]) -> tuple[OrderChange, ...]:
    return tuple(changes[key] for key in sorted(changes))


def _changes(path: Path, entries: Sequence[Entry]) -> dict[TopicPartition, OrderChange]:
    """The unfinished ones. Raises JournalError for an entry that has a right checksum and makes no sense."""
    changes: dict[TopicPartition, OrderChange] = {}
    for number, entry in enumerate(entries, start=1):
        try:
            _apply(changes, entry)
        except (KeyError, TypeError):
            raise damaged(path, number) from None
    return changes


def _begin_entry(change: OrderChange) -> Entry:
    return {
        "begin": {
            "topic": change.topic,
            "partition": change.partition,
            "topicId": change.topic_id,
            "original": change.original,
            "changed": change.changed,
        }
    }


def _apply(changes: dict[TopicPartition, OrderChange], entry: Entry) -> None:
    if "begin" in entry:
        begun = entry["begin"]
        change = OrderChange(
            begun["topic"],
            begun["partition"],
            begun["topicId"],
            tuple(begun["original"]),
            tuple(begun["changed"]),
        )
        changes[change.topic_partition] = change
    else:
        changes.pop(TopicPartition(entry["end"]["topic"], entry["end"]["partition"]), None)
