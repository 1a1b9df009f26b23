# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The throttle under which replicas are made anew: put on beside what others have set, and off when all are whole.

On the fetching side alone, and for these replicas alone: other replication is as fast as before.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ansible_collections.kafkaops.recovery.plugins.module_utils.journal.cleaner_journal import (
    Change,
    CleanerJournal,
    ReplicaChange,
    SettingChange,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils.journal.order_change import JournalError
from ansible_collections.kafkaops.recovery.plugins.module_utils.model.errors import KafkaOpsError
from ansible_collections.kafkaops.recovery.plugins.module_utils.model.setting import Setting
from ansible_collections.kafkaops.recovery.plugins.module_utils.operations.log_cleaner_settings import (
    SettingWriter,
    Undoing,
    begin_change,
    put_back,
)

RATE = "follower.replication.throttled.rate"
THROTTLED = "follower.replication.throttled.replicas"
_ALL = "*"


@dataclass(slots=True)
class Throttle:
    """What was put on, so that the same is taken off."""

    writer: SettingWriter
    journal: CleanerJournal
    begun: list[SettingChange] = field(default_factory=list)

    def put_on(self, bytes_per_second: int, changes: Sequence[ReplicaChange]) -> dict[ReplicaChange, str]:
        """Puts it on for each replica that is to be made anew, and returns why for each that is not throttled.

        Somebody else's lower rate stays, and so does their list of throttled replicas.

        Raises JournalError.
        """
        faults: dict[ReplicaChange, str] = {}
        for broker_id in sorted({each.broker_id for each in changes}):
            wanted = SettingChange("broker", str(broker_id), RATE, None, str(bytes_per_second))
            fault = self._begin(wanted, ())
            faults |= {each: fault for each in changes if fault and each.broker_id == broker_id}
        left = [each for each in changes if each not in faults]
        for topic in sorted({each.topic for each in left}):
            those = [each for each in left if each.topic == topic]
            wanted = SettingChange("topic", topic, THROTTLED, None, "")
            fault = self._begin(wanted, [f"{each.partition}:{each.broker_id}" for each in those])
            faults |= dict.fromkeys(those, fault) if fault else {}
        return faults

    def take_off(self) -> dict[SettingChange, str]:
        """Takes it off where no replica is copied any more, and returns why for each setting that is not back.

        Raises JournalError.
        """
        stuck = {}
        for each in reversed(self.begun):
            undoing, reason = put_back_unless_held(self.writer, self.journal, each)
            if undoing in (Undoing.FAILED, Undoing.CONFLICT):
                stuck[each] = f"{each.name} of {each.kind} {each.resource}: {reason}"
        return stuck

    def _begin(self, wanted: SettingChange, replicas: Sequence[str]) -> str:
        """Makes one change, and returns why it could not be made."""
        try:
            found = self.writer.in_force(wanted)
            changed = _merged(found, replicas) if replicas else _lower(found, wanted.changed)
            if changed is not None:
                original = found.own if found is not None else None
                change = SettingChange(wanted.kind, wanted.resource, wanted.name, original, changed)
                self.begun.append(begin_change(self.writer, self.journal, change))
        except JournalError:
            raise
        except KafkaOpsError as fault:
            return f"it cannot be throttled: {fault}"
        return ""


def put_back_unless_held(writer: SettingWriter, journal: CleanerJournal, change: SettingChange) -> tuple[Undoing, str]:
    """Puts a setting back, unless it is the throttle of a replica that the journal still holds: it may be copied yet.

    Raises JournalError.
    """
    reason = why_held(change, journal.unfinished)
    return (Undoing.FAILED, reason) if reason else put_back(writer, journal, change)


def why_held(change: SettingChange, unfinished: Sequence[Change]) -> str:
    """Which replica a throttle is kept for, in words; empty for none."""
    if change.name not in (RATE, THROTTLED):
        return ""
    place = (change.kind, change.resource)
    return "; ".join(
        f"it is kept until the replica of {each.topic_partition} on broker {each.broker_id} is back"
        for each in unfinished
        if isinstance(each, ReplicaChange) and place in throttled_places(each)
    )


def throttled_places(change: ReplicaChange) -> Mapping[tuple[str, str], str]:
    """Kind and resource of what a replica's throttle is set on, with the setting's name."""
    return {("broker", str(change.broker_id)): RATE, ("topic", change.topic): THROTTLED}


def _merged(found: Setting | None, replicas: Sequence[str]) -> str | None:
    """Somebody else's list with our replicas in it; None when they are."""
    theirs = [each.strip() for each in ((found.value if found is not None else None) or "").split(",") if each.strip()]
    ours = [each for each in replicas if each not in theirs]
    return None if _ALL in theirs or not ours else ",".join([*theirs, *ours])


def _lower(found: Setting | None, rate: str) -> str | None:
    """Our rate; None when what is in force is not above it."""
    text = found.value if found is not None else None
    return None if text is not None and text.isdecimal() and int(text) <= int(rate) else rate
