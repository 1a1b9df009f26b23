# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The journal of the log cleaner's runs: settings that are to be put back, and replicas that are being re-created.

Beside the journal of replica orders, with the same lock: two runs from one host cannot meet.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol, TypeAlias, TypeVar

from ansible_collections.kafkaops.recovery.plugins.module_utils.journal.checked_file import (
    CheckedFile,
    Entry,
    damaged,
    open_checked_file,
    path_for,
    read_entries,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils.journal.order_change import JournalError
from ansible_collections.kafkaops.recovery.plugins.module_utils.model.partition import TopicPartition
from ansible_collections.kafkaops.recovery.plugins.module_utils.model.setting import same_value

_SUFFIX = ".cleaner"


@dataclass(frozen=True, slots=True)
class SettingChange:
    """A config of a broker or topic that we are about to change, or have changed, for a while."""

    kind: str
    """``broker`` or ``topic``."""
    resource: str
    """The broker's id or the topic's name."""
    name: str
    original: str | None
    """The resource's own value; None when none was set, which DELETE restores."""
    changed: str
    """What we set. Any third value found later is somebody else's."""

    @property
    def key(self) -> str:
        return f"{self.kind}/{self.resource}/{self.name}"


@dataclass(frozen=True, slots=True)
class ReplicaChange:
    """A replica that we are about to drop and re-create, or have dropped."""

    topic: str
    partition: int
    topic_id: str
    broker_id: int
    original: tuple[int, ...]
    """The replicas in their order."""
    source: int
    """Who leads meanwhile."""
    leader: int
    """Who led before."""

    @property
    def topic_partition(self) -> TopicPartition:
        return TopicPartition(self.topic, self.partition)

    @property
    def key(self) -> str:
        return f"replica/{self.topic}/{self.partition}"

    @property
    def source_first(self) -> tuple[int, ...]:
        """The original set with the source first."""
        return (self.source, *(each for each in self.original if each != self.source))

    @property
    def without_it(self) -> tuple[int, ...]:
        """The same without the replica."""
        return tuple(each for each in self.source_first if each != self.broker_id)


Change: TypeAlias = "SettingChange | ReplicaChange"
AnyChange = TypeVar("AnyChange", SettingChange, ReplicaChange)


class CleanerJournal(Protocol):
    """Remembers changes until they are undone. Raises JournalError when it cannot."""

    @property
    def unfinished(self) -> Sequence[Change]:
        """Changes begun and not ended, replicas first, since a throttle has to last as long as they do."""

    def begin(self, change: AnyChange) -> AnyChange:
        """Returns the change once it is durable, as it is remembered.

        Of a setting that still has what an unfinished change set, that one's original is kept: what was read is ours.

        Raises JournalError, too, where a change of the same partition's replicas is unfinished.
        """

    def end(self, change: Change, why: str) -> None:
        """Strikes a change out: it is put back, or not ours to put back."""


def read_unfinished(directory: str, cluster_id: str) -> tuple[Change, ...]:
    """What the journal of a cluster holds to be undone. Takes no lock and creates nothing.

    Raises JournalError.
    """
    path = path_for(directory, cluster_id, _SUFFIX)
    entries, _length = read_entries(path)
    return _ordered(_changes(path, entries))


@contextmanager
def open_cleaner_journal(directory: str, cluster_id: str) -> Iterator[FileCleanerJournal]:
    """Locks and opens the journal of a cluster, and makes sure that it can be written. Not for check mode.

    Raises JournalError: another run holds it, it cannot be written, or it is damaged.
    """
    with open_checked_file(path_for(directory, cluster_id, _SUFFIX)) as file:
        yield FileCleanerJournal(file)


class FileCleanerJournal:
    """An open, locked journal file. Made by open_cleaner_journal. May be used by several threads."""

    def __init__(self, file: CheckedFile) -> None:
        self._file = file
        self._changes = _changes(file.path, file.entries)
        self._lock = threading.Lock()

    @property
    def unfinished(self) -> Sequence[Change]:
        with self._lock:
            return _ordered(self._changes)

    def begin(self, change: AnyChange) -> AnyChange:
        with self._lock:
            change = _with_first_original(change, self._changes.get(change.key))
            self._file.append([{"begin": _to_json(change)}])
            self._changes[change.key] = change
            return change

    def end(self, change: Change, why: str) -> None:
        with self._lock:
            self._file.append([{"end": change.key, "why": why}])
            self._changes.pop(change.key, None)


def _with_first_original(change: AnyChange, unfinished: Change | None) -> AnyChange:
    if isinstance(change, ReplicaChange) and unfinished is not None:
        raise JournalError(
            f"an earlier change of the replicas of {change.topic_partition} is not put back yet, and their original "
            "would be forgotten: see to what keeps it from that, and run again"
        )
    if (
        isinstance(change, SettingChange)
        and isinstance(unfinished, SettingChange)
        and same_value(change.original, unfinished.changed)
    ):
        return replace(change, original=unfinished.original)
    return change


def _ordered(changes: dict[str, Change]) -> tuple[Change, ...]:
    return tuple(changes[key] for key in sorted(changes, key=lambda key: (not key.startswith("replica/"), key)))


def _changes(path: Path, entries: Sequence[Entry]) -> dict[str, Change]:
    """The unfinished ones. Raises JournalError for an entry that has a right checksum and makes no sense."""
    changes: dict[str, Change] = {}
    for number, entry in enumerate(entries, start=1):
        try:
            if "begin" in entry:
                change = _from_json(entry["begin"])
                changes[change.key] = change
            else:
                changes.pop(entry["end"], None)
        except (KeyError, TypeError, ValueError):
            raise damaged(path, number) from None
    return changes


def _to_json(change: Change) -> Entry:
    if isinstance(change, SettingChange):
        return {
            "kind": change.kind,
            "resource": change.resource,
            "name": change.name,
            "original": change.original,
            "changed": change.changed,
        }
    return {
        "kind": "replica",
        "topic": change.topic,
        "partition": change.partition,
        "topicId": change.topic_id,
        "brokerId": change.broker_id,
        "original": change.original,
        "source": change.source,
        "leader": change.leader,
    }


def _from_json(entry: Entry) -> Change:
    if entry["kind"] == "replica":
        return ReplicaChange(
            entry["topic"],
            int(entry["partition"]),
            entry["topicId"],
            int(entry["brokerId"]),
            tuple(entry["original"]),
            int(entry["source"]),
            int(entry["leader"]),
        )
    return SettingChange(entry["kind"], entry["resource"], entry["name"], entry["original"], entry["changed"])
