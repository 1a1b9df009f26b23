# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Define what is known of an outage besides the logs of today: times, a proof, and an estimate. Standard library only.

Times of records are the timestamps in the records. All other times are by the active controller's clock.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from typing import Annotated, TypeAlias

from .fields import INT32_MAX, INT64_MAX, BrokerId, LeaderId, Meta, Moment, Replicas
from .reasons import name_brokers

_Records: TypeAlias = Annotated[int, Meta("a number of records", minimum=0, maximum=INT64_MAX)]
_Isr: TypeAlias = Annotated[Replicas, Meta(description="the ISR is a list of broker ids")]
_Texts: TypeAlias = Annotated[tuple[str, ...], Meta(description="the sources are a list of texts")]


@dataclass(frozen=True, slots=True)
class IsrChange:
    """One change of a partition, from the controllers' metadata log. A leader of -1 is no leader."""

    at: Moment
    leader_id: LeaderId | None
    isr: _Isr | None


@dataclass(frozen=True, slots=True)
class OutageHistory:
    """What happened to a partition before this run."""

    last_leader_id: LeaderId | None
    alone_since: Moment | None
    """Since when the last leader was the only member of the ISR. None if it never was, or if it is not known."""
    leader_lost_at: Moment | None
    isr_changes: Annotated[tuple[IsrChange, ...], Meta(description="the changes of the ISR are a list")]
    """The newest ones, oldest first."""
    sources: _Texts
    """Where this comes from."""
    missing: _Texts
    """Why something is not known."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """How many records the last leader took that a replica does not hold. Never a bound."""

    records: _Records
    low: _Records
    high: _Records
    method: str


@dataclass(frozen=True, slots=True)
class LastSeen:
    """What a replica answered when a recorder asked it last."""

    broker_id: int
    seen_at_ms: int
    """By the clock of the host that recorded it."""
    topic_id: str
    leader_id: int
    leader_epoch: int
    known_epoch: int | None
    """The leader epoch as this broker knew it."""
    log_start_offset: int
    log_end_offset: int


@dataclass(frozen=True, slots=True)
class RecordedLoss:
    """Records that the last leader held when it was recorded, and that a replica lacks.

    A proof, unless an application has deleted them since (DeleteRecords), or dated them back by more than retention.ms:
    no log of Kafka shows that.
    """

    broker_id: BrokerId
    """The last leader."""
    seen_at: Moment
    records: _Records


class Assumption(StrEnum):
    """What a proof rests on that no log of Kafka shows."""

    SHUTDOWN_COMPLETED = "shutdown_completed"
    """The metadata log has a broker's request for a controlled shutdown, not its end."""
    BOOT_TIMES_RIGHT = "boot_times_right"
    """The operator gave the boot times of the hosts."""
    DISK_NOT_OLDER = "disk_not_older"
    """A disk image has the directory id of the disk, whatever its age."""
    NO_EARLIER_LOSSES = "no_earlier_losses"
    """A replica has been out of sync since before the log begins: it may hold what others lost (``earlier_losses``)."""
    NO_OLDER_TOPIC = "no_older_topic"
    """A broker may use the min.insync.replicas of a deleted topic, if it started soon after (``min_isr``)."""


_CALENDAR_BEGINS_MS, _CALENDAR_ENDS_MS = -62_135_596_800_000, 253_402_300_800_000
"""The years 1 to 9999, which RFC 3339 has."""

_ASSUMED = {
    Assumption.SHUTDOWN_COMPLETED: "no host lost power before its broker had stopped",
    Assumption.BOOT_TIMES_RIGHT: "the given boot times are right",
    Assumption.DISK_NOT_OLDER: "no disk was restored from an older image",
    Assumption.NO_EARLIER_LOSSES: "no leader had lost records before the metadata log begins",
    Assumption.NO_OLDER_TOPIC: "no topic of the same name was deleted in the hour before a leader started",
}


def each_once(assumptions: Iterable[Assumption]) -> tuple[Assumption, ...]:
    """Return each assumption once, in the order of ``Assumption``."""
    assumed = {*assumptions}
    return tuple(each for each in Assumption if each in assumed)


def describe_assumptions(assumptions: Iterable[Assumption]) -> str:
    """Return a clause such as "provided that the given boot times are right". Empty if there are none."""
    words = [_ASSUMED[each] for each in each_once(assumptions)]
    return f"provided that {' and '.join(words)}" if words else ""


Assumptions: TypeAlias = Annotated[
    tuple[Annotated[Assumption, Meta("an assumption")], ...], Meta(description="the assumptions are a list")
]


@dataclass(frozen=True, slots=True)
class ReplicaPast:
    """What is known of one surviving replica besides its log."""

    log_ends_at: Moment | None = None
    """The timestamp of its newest record."""
    lacks_seconds: Annotated[int, Meta("a number of seconds", minimum=0, maximum=INT32_MAX)] | None = None
    """Electing it gives up at most what was written in so many seconds before the leader was lost, rounded up."""
    keeps_acks_all: bool | None = None
    """True: it is proven that it holds every record that was acknowledged with acks=all. None: not known."""
    proof: str = ""
    """The proof, or why there is none."""
    estimate: Estimate | None = None
    recorded: RecordedLoss | None = None
    """What it lacks of the records that the silent last leader held when it was recorded."""
    assumptions: Assumptions = ()
    """What ``keeps_acks_all`` and ``lacks_seconds`` rest on."""
    estimated_since: Moment | None = None
    """When the time begins that ``estimate`` covers: later than ``log_ends_at`` if nothing was written in between."""


UNKNOWN_PAST = ReplicaPast()


@dataclass(frozen=True, slots=True)
class Outage:
    """What is known of the outage of one partition."""

    history: OutageHistory
    replicas: Mapping[int, ReplicaPast] = field(default_factory=dict)
    """By broker id."""
    leader_has_new_disk: bool = False
    """The last leader came back with another log directory after it was lost, and did not lead again."""


def led_alone(histories: Iterable[OutageHistory | None]) -> str:
    """Say which brokers led alone, from the first time to the last: "broker 1 led alone from ... until ...".

    Empty if one history does not say it: then it is not known of all of them.
    """
    found = list(histories)
    alone = [each for each in found if each and each.alone_since and each.leader_lost_at]
    if not alone or len(alone) < len(found):
        return ""
    brokers = sorted({each.last_leader_id for each in alone if each.last_leader_id is not None})
    since, until = min(each.alone_since or "" for each in alone), max(each.leader_lost_at or "" for each in alone)
    return f"{name_brokers(brokers)} led alone from {since} until {until}"


def utc_text(at_ms: int | None) -> str | None:
    """Return RFC 3339 in UTC with milliseconds: 2026-01-31T23:59:59.123Z.

    None if it is not known, and if no calendar has it: a producer may write microseconds as the time of a record.
    """
    if at_ms is None or not _CALENDAR_BEGINS_MS <= at_ms < _CALENDAR_ENDS_MS:
        return None
    return datetime.fromtimestamp(at_ms / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def in_words(seconds: int) -> str:
    """Return a duration as "24 min 44 s"."""
    minutes, rest = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    parts = [(hours, "h"), (minutes, "min"), (rest, "s")]
    named = [f"{count} {unit}" for count, unit in parts if count][:2]
    return " ".join(named) or "0 s"
