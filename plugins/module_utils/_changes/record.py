# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Define what a run changes for a while, and how the journal records it. Standard library only."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields
from enum import StrEnum
from typing import Any, Generic, TypeAlias, TypeVar

from .._model.partition import TopicPartition
from .._model.run import KafkaOpsError

Entry = dict[str, Any]
"""One record of the journal, as JSON has it."""


class JournalError(KafkaOpsError):
    """The journal cannot be written, read or trusted. Nothing may be changed then."""


class Undoing(StrEnum):
    """What became of a change that was to be undone."""

    RESTORED = "restored"
    WOULD_RESTORE = "would_restore"
    ALREADY_BACK = "already_back"
    CONFLICT = "conflict"
    """Somebody else changed it meanwhile: what they set stays."""
    GONE = "gone"
    """The topic was deleted or re-created."""
    FAILED = "failed"
    """Still in the journal: the next run tries again."""


LEFT_AS_IS = frozenset({Undoing.CONFLICT, Undoing.GONE})
"""Nobody undoes these any more."""
RESTORING = frozenset({Undoing.RESTORED, Undoing.WOULD_RESTORE})


@dataclass(frozen=True, slots=True)
class OrderChange:
    """A replica order that a run is about to change, or has changed."""

    topic: str
    partition: int
    topic_id: str
    original: tuple[int, ...]
    changed: tuple[int, ...]
    """The order that the run sets. Any third order found later was set by somebody else."""
    dropped: tuple[int, ...] = ()
    """Unregistered brokers at the end of ``changed``, which the request leaves out. The controller lists them there
    until every other replica is in sync, and then no more. While they are not registered they cannot be put back."""

    @property
    def topic_partition(self) -> TopicPartition:
        return TopicPartition(self.topic, self.partition)

    @property
    def without_dropped(self) -> tuple[int, ...]:
        """The original order of the replicas that stay: what is put back where others cannot be."""
        return tuple(each for each in self.original if each not in self.dropped)

    @property
    def restored_order(self) -> tuple[int, ...]:
        """What is put back, with the dropped ones where the controller lists them while it removes them."""
        return (*self.without_dropped, *self.dropped)

    @property
    def possible_orders(self) -> tuple[tuple[int, ...], ...]:
        """All orders in which the partition can be before, during and after this change."""
        return (self.original, self.changed, self.requested_order, self.restored_order, self.without_dropped)

    @property
    def requested_order(self) -> tuple[int, ...]:
        """What the request asks for."""
        return self.changed[: len(self.changed) - len(self.dropped)]

    def is_set(self, replicas: tuple[int, ...]) -> bool:
        """Return whether these replicas are as this change left them, with the dropped ones or without."""
        return replicas in (self.changed, self.requested_order)

    def is_restored_without_dropped(self, replicas: tuple[int, ...]) -> bool:
        """Return whether the others are back in their original order."""
        return bool(self.dropped) and replicas in (self.without_dropped, self.restored_order)

    def continues(self, earlier: OrderChange) -> bool:
        """Return whether it changes the order that an earlier change of the same partition has set."""
        return self.topic_id == earlier.topic_id and self.original == earlier.changed

    @property
    def key(self) -> str:
        return f"order/{self.topic}/{self.partition}"

    def __str__(self) -> str:
        return f"replica order of {self.topic_partition}"


@dataclass(frozen=True, slots=True)
class ReplicaChange:
    """A replica that a run is about to drop and re-create, or has dropped."""

    topic: str
    partition: int
    topic_id: str
    broker_id: int
    original: tuple[int, ...]
    """The replicas in their order."""
    source: int
    """The broker that leads meanwhile."""
    leader: int
    """The broker that led before."""

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
    def without_replica(self) -> tuple[int, ...]:
        """The same without the replica."""
        return tuple(each for each in self.source_first if each != self.broker_id)

    def __str__(self) -> str:
        return f"replica of {self.topic_partition} on broker {self.broker_id}"


@dataclass(frozen=True, slots=True)
class SettingChange:
    """A config of a broker or topic that a run changes for a while; a replication throttle is one of these."""

    kind: str
    """``broker`` or ``topic``."""
    resource: str
    """The broker's id or the topic's name."""
    name: str
    original: str | None
    """The resource's own value; None when none was set, which DELETE restores."""
    changed: str
    """The value that the run sets. Any third value found later was set by somebody else."""

    @property
    def key(self) -> str:
        return f"setting/{self.kind}/{self.resource}/{self.name}"

    def __str__(self) -> str:
        return f"{self.name} of {self.kind} {self.resource}"


@dataclass(frozen=True, slots=True)
class VoterChange:
    """A voter that a run is about to add to the quorum or remove from it. Lasting: it is looked up, never undone."""

    action: str
    """``add`` or ``remove``."""
    voter_id: int
    directory_id: str

    @property
    def key(self) -> str:
        return f"voter/{self.voter_id}/{self.directory_id}"

    def __str__(self) -> str:
        return f"voter {self.voter_id} ({self.action})"


@dataclass(frozen=True, slots=True)
class LastingOrders:
    """Orders that a run is about to set for good. Never undone: the memory of leadership has the original ones.

    It is settled when none of the run's requests can be executed any more. What the memory forgets, nobody restores.
    """

    @property
    def key(self) -> str:
        return "lasting/orders"

    def __str__(self) -> str:
        return "replica orders of a drain or of its restore"


Change: TypeAlias = "OrderChange | ReplicaChange | SettingChange | VoterChange | LastingOrders"

_KINDS: dict[str, Callable[..., Change]] = {
    "order": OrderChange,
    "replica": ReplicaChange,
    "setting": SettingChange,
    "voter": VoterChange,
    "lasting": LastingOrders,
}
_FIRST_BACK = ("replica", "order", "setting", "voter", "lasting")
"""A throttle has to last as long as the copy that it slows down, so settings go back after replicas."""


AnyChange = TypeVar("AnyChange", bound=Change)


@dataclass(frozen=True)  # no slots: calling a parametrized alias of it would fail
class Leftover(Generic[AnyChange]):
    """One change that is to be undone, and how that ended."""

    change: AnyChange
    undoing: Undoing
    reason: str

    @property
    def described(self) -> str:
        """What became of it, for a person."""
        return f"{self.change}: an earlier run left it changed: {self.reason} ({self.undoing.value})"


OrderLeftover: TypeAlias = Leftover[OrderChange]
AnyLeftover: TypeAlias = Leftover[Any]


def begin_entry(change: Change) -> Entry:
    """Return the record that a change was begun."""
    name = next(name for name, kind in _KINDS.items() if kind is type(change))
    values = {each.name: getattr(change, each.name) for each in fields(change)}
    if isinstance(change, OrderChange) and not change.dropped:
        del values["dropped"]
    return {"begin": name, **values}


def end_entry(change: Change, why: str) -> Entry:
    """Return the record that a change is settled."""
    return {"end": change.key, "why": why}


def apply_entry(pending: dict[str, Change], entry: Entry) -> None:
    """Add the change of a begin record, or drop the one of an end record.

    Raises KeyError, TypeError or ValueError for a record that is neither.
    """
    if "begin" in entry:
        change = _change(entry)
        pending[change.key] = change
    elif isinstance(entry["end"], str):
        pending.pop(entry["end"], None)
    else:
        raise TypeError("end")


def subject_of(change: Change) -> str:
    """Return what requests about a change are about: a partition, as ``partition_subject`` has it, or a setting."""
    return change.key.partition("/")[2]


def partition_subject(partition: TopicPartition) -> str:
    """Return what requests for the order or the replicas of a partition are about."""
    return f"{partition.topic}/{partition.partition}"


def in_order(pending: Iterable[Change]) -> tuple[Change, ...]:
    """Return changes in the order in which they are undone."""
    return tuple(sorted(pending, key=_rank))


def _rank(change: Change) -> tuple[int, str, int, str]:
    kind = _FIRST_BACK.index(change.key.partition("/")[0])
    if isinstance(change, (OrderChange, ReplicaChange)):
        return kind, change.topic, change.partition, ""
    return kind, "", 0, change.key


def _change(entry: Entry) -> Change:
    values = {name: tuple(value) if isinstance(value, list) else value for name, value in entry.items()}
    change = _KINDS[str(values.pop("begin"))](**values)
    if not _makes_sense(change):
        raise ValueError("a change that no run makes")
    return change


def _makes_sense(change: Change) -> bool:
    """Return whether undoing it touches only what such a change touches: an order of the same set, and so on."""
    if isinstance(change, SettingChange):
        return change.kind in {"broker", "topic"} and _are(str, change.resource, change.name, change.changed)
    if isinstance(change, LastingOrders):
        return True
    if isinstance(change, VoterChange):
        return change.action in {"add", "remove"} and _are(int, change.voter_id)
    if not (_are(str, change.topic) and _are(int, change.partition, *change.original)):
        return False
    if isinstance(change, OrderChange):
        dropped = change.dropped
        return (
            sorted(change.changed) == sorted(change.original)
            and change.changed[len(change.changed) - len(dropped) :] == dropped
        )
    return {change.broker_id, change.source, change.leader} <= {*change.original}


def _are(kind: type, *values: Any) -> bool:
    return all(isinstance(each, kind) for each in values)
