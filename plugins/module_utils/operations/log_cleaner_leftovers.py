# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Puts back what an earlier run of the log cleaner's modules left changed, in this order: replicas, then settings."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ansible_collections.kafkaops.recovery.plugins.module_utils.journal.cleaner_journal import (
    Change,
    CleanerJournal,
    ReplicaChange,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils.operations.log_cleaner_settings import (
    SettingWriter,
    Undoing,
    look_at_setting,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils.operations.log_cleaner_throttle import (
    put_back_unless_held,
)

PutReplicaBack = Callable[[ReplicaChange], tuple[Undoing, str]]


@dataclass(frozen=True, slots=True)
class CleanerLeftover:
    """One change that an earlier run left, and how it ended."""

    change: str
    undoing: Undoing
    reason: str


PUT_BACK = frozenset({Undoing.RESTORED, Undoing.WOULD_RESTORE})


def undo_leftovers(
    writer: SettingWriter, journal: CleanerJournal, put_replica_back: PutReplicaBack
) -> tuple[CleanerLeftover, ...]:
    """Puts back everything that is still as we set it. ``put_replica_back`` ends what it has settled in the journal.

    Raises JournalError.
    """
    ended = []
    for change in journal.unfinished:
        if isinstance(change, ReplicaChange):
            undoing, reason = put_replica_back(change)
        else:
            undoing, reason = put_back_unless_held(writer, journal, change)
        ended.append(CleanerLeftover(shown(change), undoing, reason))
    return tuple(ended)


def look_at_leftovers(
    writer: SettingWriter, changes: Sequence[Change], look_at_replica: PutReplicaBack
) -> tuple[CleanerLeftover, ...]:
    """Says what putting back would do. Writes nothing."""
    found = []
    for change in changes:
        undoing, reason = (
            look_at_replica(change) if isinstance(change, ReplicaChange) else look_at_setting(writer, change)
        )
        found.append(CleanerLeftover(shown(change), undoing, reason))
    return tuple(found)


def shown(change: Change) -> str:
    """A change's name, for a person."""
    if isinstance(change, ReplicaChange):
        return f"replica of {change.topic_partition} on broker {change.broker_id}"
    return f"{change.name} of {change.kind} {change.resource}"
