# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Throttle the replicas that a run copies, and no other replication, for as long as the run copies them.

Follower throttles limit how fast a broker fetches. The throttles of other parties stay. Each change is in the journal
before it is made, so the next run removes the throttle of a run that was killed.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol, TypeAlias, TypeVar

from .._model.partition import grouped
from .._model.run import KafkaOpsError
from .._model.setting import THROTTLE_RATE, THROTTLED_REPLICAS, Setting, number_of
from .journal import Journal
from .record import NOT_RESTORED, JournalError, Leftover, SettingChange
from .setting_writer import (
    SettingWriter,
    begin_change,
    restore_setting,
)

_ALL = "*"

Place: TypeAlias = tuple[str, str]
"""Kind and resource of a SettingChange."""


class CopiedReplica(Hashable, Protocol):
    """A replica that a broker fetches."""

    @property
    def topic(self) -> str: ...
    @property
    def partition(self) -> int: ...
    @property
    def broker_id(self) -> int: ...


Replica = TypeVar("Replica", bound=CopiedReplica)


@dataclass(slots=True)
class Throttle:
    """The throttle of one run."""

    writer: SettingWriter
    journal: Journal
    begun: list[SettingChange] = field(default_factory=list)

    def apply(self, bytes_per_second: int, replicas: Sequence[Replica]) -> dict[Replica, str]:
        """Throttle replicas, and return why the others are not throttled.

        A lower rate of another party stays, and so do the throttled replicas of other parties.

        Raises JournalError.
        """
        failures: dict[Replica, str] = {}
        for broker_id in sorted({each.broker_id for each in replicas}):
            failure = self._change(
                ("broker", str(broker_id)), THROTTLE_RATE, partial(_lower_rate, rate=str(bytes_per_second))
            )
            failures |= {each: failure for each in replicas if failure and each.broker_id == broker_id}
        by_topic = grouped((each.topic, each) for each in replicas if each not in failures)
        for topic, those in sorted(by_topic.items()):
            named = [f"{each.partition}:{each.broker_id}" for each in those]
            failure = self._change(("topic", topic), THROTTLED_REPLICAS, partial(_add_replicas, replicas=named))
            failures |= dict.fromkeys(those, failure) if failure else {}
        return failures

    def remove(self) -> list[Leftover[SettingChange]]:
        """Restore the settings, and return those that are not restored, for example because a replica is copied.

        Raises JournalError.
        """
        found = [restore_setting(self.writer, self.journal, each) for each in reversed(self.begun)]
        self.journal.end_undone(found)
        return [each for each in found if each.undoing in NOT_RESTORED]

    def _change(self, place: Place, name: str, wanted: Callable[[Setting | None], str | None]) -> str:
        """Change one setting to what ``wanted`` returns, unless that is None. Return why that failed."""
        kind, resource = place
        try:
            # The id comes first: then the original value is of this topic, or the write is refused.
            topic_id = self.writer.read_topic_id(resource) if kind == "topic" else ""
            found = self.writer.read_effective(SettingChange(kind, resource, name, None, ""))
            changed = wanted(found)
            if changed is not None:
                original = found.own if found is not None else None
                change = SettingChange(kind, resource, name, original, changed, topic_id)
                self.begun.append(begin_change(self.writer, self.journal, change))
        except JournalError:
            raise
        except KafkaOpsError as error:
            return f"it cannot be throttled: {error}"
        return ""


def _add_replicas(found: Setting | None, replicas: Sequence[str]) -> str | None:
    """Return the list of throttled replicas with ours added; None if it has all of them."""
    theirs = [each.strip() for each in ((found.value if found is not None else None) or "").split(",") if each.strip()]
    ours = [each for each in replicas if each not in theirs]
    return None if _ALL in theirs or not ours else ",".join([*theirs, *ours])


def _lower_rate(found: Setting | None, rate: str) -> str | None:
    """Return our rate; None if the rate in effect is not higher."""
    theirs = number_of(found)
    return None if theirs is not None and theirs <= int(rate) else rate
