# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The throttle under which replicas are re-created: put on beside what others have set, and off when all are whole.

On the fetching side alone, and for these replicas alone: other replication is as fast as before.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TypeAlias

from .._changes.journal import Journal
from .._changes.record import JournalError, ReplicaChange, SettingChange, Undoing
from .._changes.setting_writer import (
    THROTTLE_RATE,
    THROTTLED_REPLICAS,
    SettingWriter,
    begin_change,
    put_back_unless_held,
)
from .._model.run import KafkaOpsError
from .._model.setting import Setting

_ALL = "*"

Place: TypeAlias = tuple[str, str]
"""Kind and resource, as a SettingChange has them."""


@dataclass(slots=True)
class Throttle:
    """What was put on, so that the same is taken off."""

    writer: SettingWriter
    journal: Journal
    begun: list[SettingChange] = field(default_factory=list)

    def put_on(self, bytes_per_second: int, changes: Sequence[ReplicaChange]) -> dict[ReplicaChange, str]:
        """Set it for each replica that is to be re-created, and return why for each that is not throttled.

        Somebody else's lower rate stays, and so does their list of throttled replicas.

        Raises JournalError.
        """
        faults: dict[ReplicaChange, str] = {}
        for broker_id in sorted({each.broker_id for each in changes}):
            fault = self._begin(("broker", str(broker_id)), THROTTLE_RATE, partial(_lower, rate=str(bytes_per_second)))
            faults |= {each: fault for each in changes if fault and each.broker_id == broker_id}
        left = [each for each in changes if each not in faults]
        for topic in sorted({each.topic for each in left}):
            those = [each for each in left if each.topic == topic]
            replicas = [f"{each.partition}:{each.broker_id}" for each in those]
            fault = self._begin(("topic", topic), THROTTLED_REPLICAS, partial(_merged, replicas=replicas))
            faults |= dict.fromkeys(those, fault) if fault else {}
        return faults

    def take_off(self) -> dict[SettingChange, str]:
        """Remove it where no replica is copied any more, and return why for each setting that is not restored.

        Raises JournalError.
        """
        stuck = {}
        for each in reversed(self.begun):
            undoing, reason = put_back_unless_held(self.writer, self.journal, each)
            if undoing in (Undoing.FAILED, Undoing.CONFLICT):
                stuck[each] = f"{each.name} of {each.kind} {each.resource}: {reason}"
        return stuck

    def _begin(self, place: Place, name: str, wanted: Callable[[Setting | None], str | None]) -> str:
        """Make one change, if what is in force is not as ``wanted``, and return why it could not be made."""
        try:
            found = self.writer.in_force(SettingChange(*place, name, None, ""))
            changed = wanted(found)
            if changed is not None:
                original = found.own if found is not None else None
                change = SettingChange(*place, name, original, changed)
                self.begun.append(begin_change(self.writer, self.journal, change))
        except JournalError:
            raise
        except KafkaOpsError as fault:
            return f"it cannot be throttled: {fault}"
        return ""


def _merged(found: Setting | None, replicas: Sequence[str]) -> str | None:
    """Somebody else's list with our replicas in it; None when they are."""
    theirs = [each.strip() for each in ((found.value if found is not None else None) or "").split(",") if each.strip()]
    ours = [each for each in replicas if each not in theirs]
    return None if _ALL in theirs or not ours else ",".join([*theirs, *ours])


def _lower(found: Setting | None, rate: str) -> str | None:
    """Our rate; None when what is in force is not above it."""
    text = found.value if found is not None else None
    return None if text is not None and text.isdecimal() and int(text) <= int(rate) else rate
