# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Define the changes that must be undone, and their records in the journal. Standard library only."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from enum import StrEnum
from typing import Any, Generic, TypeAlias, TypeVar

from .._model.partition import OfPartition, Reassignment, TopicPartition, in_batches
from .._model.run import KafkaOpsError
from .._model.setting import CLEANER_BACKOFF_MS, CLEANER_THREADS, THROTTLE_RATE, THROTTLED_REPLICAS

Entry = dict[str, Any]
"""One record of the journal, as a JSON object."""


class JournalError(KafkaOpsError):
    """The journal cannot be written or read, or it is damaged. The run must not change anything."""


class Undoing(StrEnum):
    """The result of undoing a change."""

    RESTORED = "restored"
    WOULD_RESTORE = "would_restore"
    ALREADY_BACK = "already_back"
    CONFLICT = "conflict"
    """Another party has changed it since. That value stays."""
    GONE = "gone"
    """The topic was deleted or re-created."""
    FAILED = "failed"
    """It stays in the journal, and the next run tries again."""
    WAITS = "waits"
    """Only a broker that is down can undo it. It stays in the journal until a run finds the broker up."""


LEFT_AS_IS = frozenset({Undoing.CONFLICT, Undoing.GONE})
"""These changes are not undone, and leave the journal."""
PENDING = frozenset({Undoing.FAILED, Undoing.WAITS})
"""These changes stay in the journal."""
NOT_RESTORED = PENDING | {Undoing.CONFLICT}
"""What was changed is still changed."""
RESTORING = frozenset({Undoing.RESTORED, Undoing.WOULD_RESTORE})
"""The original state is restored or, in check mode, would be."""


@dataclass(frozen=True, slots=True)
class OrderChange(OfPartition):
    """A replica order that a run is about to change, or has changed."""

    topic: str
    partition: int
    topic_id: str
    original: tuple[int, ...]
    changed: tuple[int, ...]
    """The order that the run sets. Another party has set any third order."""
    dropped: tuple[int, ...] = ()
    """Brokers at the end of ``changed``, which the request leaves out. They are unregistered, or a reassignment that
    was running removes them. The controller lists them there until all other replicas are in sync, and then removes
    them. It accepts unregistered brokers again only after they register."""
    adding: tuple[int, ...] = ()
    """The replicas that a reassignment of another party was adding when the order was changed."""
    removing: tuple[int, ...] = ()
    """The replicas that this reassignment was removing, by id. They are the last ones of ``original``."""

    @property
    def reassignment(self) -> Reassignment | None:
        """The reassignment of another party that was running, and goes on in the changed order."""
        return Reassignment(self.adding, self.removing) if self.adding or self.removing else None

    @property
    def dropped_for_good(self) -> tuple[int, ...]:
        """The brokers that this change, and no reassignment, drops."""
        return () if self.reassignment else self.dropped

    @property
    def leaving(self) -> tuple[int, ...]:
        """The brokers that the restored order leaves out: those that are dropped, or that a reassignment removes."""
        return self.removing if self.reassignment else self.dropped

    @property
    def without_dropped(self) -> tuple[int, ...]:
        """The original order without the dropped brokers: of a reassignment, the order of its target."""
        # Usually none, and each partition is asked several times.
        return self.original if not self.leaving else tuple(each for each in self.original if each not in self.leaving)

    @property
    def restored_order(self) -> tuple[int, ...]:
        """The restored order as the controller lists it while it removes the dropped brokers."""
        return (*self.without_dropped, *self.leaving)

    @property
    def possible_orders(self) -> tuple[tuple[int, ...], ...]:
        """All orders that the partition can have before, during and after this change."""
        orders = (self.original, self.changed, self.requested_order, self.restored_order, self.without_dropped)
        if not self.removing:
            return orders
        return (*orders, tuple(each for each in self.changed if each not in self.removing))

    @property
    def requested_order(self) -> tuple[int, ...]:
        """The order that the request names: ``changed`` without the dropped brokers."""
        return self.changed[: len(self.changed) - len(self.dropped)]

    def is_set(self, replicas: tuple[int, ...]) -> bool:
        """Return whether this change set these replicas, with or without the dropped brokers."""
        return replicas in (self.changed, self.requested_order)

    @property
    def key(self) -> str:
        return f"order/{self.topic}/{self.partition}"

    def __str__(self) -> str:
        return f"replica order of {self.topic_partition}"


@dataclass(frozen=True, slots=True)
class ReplicaChange(OfPartition):
    """A replica that a run drops and re-creates."""

    topic: str
    partition: int
    topic_id: str
    broker_id: int
    original: tuple[int, ...]
    """The replicas in their order."""
    source: int
    """The broker that leads while the replica is re-created."""
    leader: int
    """The broker that led before the change."""

    @property
    def key(self) -> str:
        return f"replica/{self.topic}/{self.partition}"

    @property
    def source_first(self) -> tuple[int, ...]:
        """The original replicas with the source first."""
        return (self.source, *(each for each in self.original if each != self.source))

    @property
    def without_replica(self) -> tuple[int, ...]:
        """``source_first`` without the dropped replica."""
        return tuple(each for each in self.source_first if each != self.broker_id)

    def __str__(self) -> str:
        return f"replica of {self.topic_partition} on broker {self.broker_id}"


@dataclass(frozen=True, slots=True)
class SettingChange:
    """A temporary change of a config of a broker or topic, for example a replication throttle."""

    kind: str
    """``broker`` or ``topic``."""
    resource: str
    """The broker's id or the topic's name."""
    name: str
    original: str | None
    """The resource's own value; None if it had none. DELETE restores that."""
    changed: str
    """The value that the run sets. Another party has set any third value."""
    topic_id: str = ""
    """The id of the topic. Empty for a broker."""

    @property
    def key(self) -> str:
        return f"setting/{self.kind}/{self.resource}/{self.name}"

    def __str__(self) -> str:
        return f"{self.name} of {self.kind} {self.resource}"


@dataclass(frozen=True, slots=True)
class VoterChange:
    """A voter that a run adds to the quorum or removes from it. A rollback never undoes it."""

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
    """Permanent replica orders that a drain or its restore sets, and new replicas for lost ones.

    A rollback never undoes them: the memory topic has the original orders, and lost replicas do not return. The change
    ends in the journal when no request of the run can be executed any more. An order that is set after that, and that
    the memory no longer has, would stay for good.
    """

    @property
    def key(self) -> str:
        return "lasting/orders"

    def __str__(self) -> str:
        return "replica orders of a drain or of its restore, or new replicas"


Change: TypeAlias = "OrderChange | ReplicaChange | SettingChange | VoterChange | LastingOrders"

_KINDS: dict[str, type[Change]] = {
    "replica": ReplicaChange,
    "order": OrderChange,
    "setting": SettingChange,
    "voter": VoterChange,
    "lasting": LastingOrders,
}
"""In the order in which they are undone: a throttle must last until the replica is copied."""
_NAMES = {kind: name for name, kind in _KINDS.items()}
_FIELDS = {kind: tuple(each.name for each in fields(kind)) for kind in _NAMES}
_TEMPORARY = {"broker": (THROTTLE_RATE, CLEANER_BACKOFF_MS, CLEANER_THREADS), "topic": (THROTTLED_REPLICAS,)}
"""The settings that runs change for a while. With a record of another one, a stranger would let a run set it."""
_CHANGES_PER_RECORD = 500
"""With a record for each change, the journal takes 5 % of an election's time. 500 of the longest names are 300 kB."""


AnyChange = TypeVar("AnyChange", bound=Change)
Item = TypeVar("Item")


@dataclass(frozen=True)  # no slots: a call of OrderLeftover(...) would fail
class Leftover(Generic[AnyChange]):
    """A change to undo, with the result."""

    change: AnyChange
    undoing: Undoing
    reason: str

    @property
    def described(self) -> str:
        """The result, in words."""
        return f"{self.change}: an earlier run left it changed: {self.reason} ({self.undoing.value})"


OrderLeftover: TypeAlias = Leftover[OrderChange]
AnyLeftover: TypeAlias = Leftover[Any]


def begin_entries(changes: Sequence[Change]) -> list[Entry]:
    """Return the records that begin changes."""
    return [
        {"begin": [_encode_change(each) for each in several]} for several in in_batches(changes, _CHANGES_PER_RECORD)
    ]


def end_entries(changes: Sequence[Change], why: str) -> list[Entry]:
    """Return the records that end changes."""
    return [{"end": [each.key for each in several], "why": why} for several in in_batches(changes, _CHANGES_PER_RECORD)]


def doubt_entries(subjects: Sequence[str]) -> list[Entry]:
    """Return the records that name the subjects of requests which may be executed a second time."""
    return [{"doubt": [*several]} for several in in_batches(subjects, _CHANGES_PER_RECORD)]


def apply_entry(pending: dict[str, Change], doubted: set[str], entry: Entry) -> None:
    """Add the changes of a begin record, the subjects of a doubt record, or remove the changes of an end record.

    Raises KeyError, TypeError or ValueError for any other record.
    """
    if "begin" in entry:
        pending |= {change.key: change for change in map(_decode_change, _require_list(entry["begin"], dict))}
    elif "doubt" in entry:
        doubted.update(_require_list(entry["doubt"], str))
    else:
        for key in _require_list(entry["end"], str):
            pending.pop(key, None)


def subject_of(change: Change) -> str:
    """Return the name of what a change's requests write: a partition (``partition_subject``) or a setting."""
    return change.key.partition("/")[2]


def partition_subject(partition: TopicPartition) -> str:
    """Return the subject of requests that write the replicas of a partition."""
    return f"{partition.topic}/{partition.partition}"


def partitions_of(changes: Iterable[Change]) -> frozenset[TopicPartition]:
    """Return the partitions whose replicas, or their order, the changes are about."""
    return frozenset(each.topic_partition for each in changes if isinstance(each, (OrderChange, ReplicaChange)))


def in_undo_order(pending: Iterable[Change]) -> tuple[Change, ...]:
    """Sort changes into the order in which they are undone."""
    return tuple(sorted(pending, key=_undo_position))


def _undo_position(change: Change) -> tuple[int, str, int, str]:
    kind = [*_NAMES].index(type(change))
    if isinstance(change, (OrderChange, ReplicaChange)):
        return kind, change.topic, change.partition, ""
    return kind, "", 0, change.key


def _require_list(value: Any, kind: type[Item]) -> list[Item]:
    if not isinstance(value, list) or not _are_all(kind, *value):
        raise TypeError(f"not a list of {kind.__name__}")
    return value


def _encode_change(change: Change) -> Entry:
    kind = type(change)
    values = {each: getattr(change, each) for each in _FIELDS[kind]}
    if kind is OrderChange:
        for name in ("dropped", "adding", "removing"):
            if not values[name]:
                del values[name]
    return {"change": _NAMES[kind], **values}


def _decode_change(entry: Entry) -> Change:
    values: dict[str, Any] = {name: tuple(value) if isinstance(value, list) else value for name, value in entry.items()}
    change = _KINDS[str(values.pop("change"))](**values)
    if not _is_valid(change):
        raise ValueError("a change that no run makes")
    return change


def _is_valid(change: Change) -> bool:
    """Return whether an undo of it changes only what a run of this collection can have changed."""
    if isinstance(change, SettingChange):
        return (
            _are_all(str, change.resource, change.original or "", change.changed, change.topic_id)
            and change.name in _TEMPORARY.get(change.kind, ())
            and (change.kind == "topic" or change.resource.isdecimal())
        )
    if isinstance(change, LastingOrders):
        return True
    if isinstance(change, VoterChange):
        return change.action in {"add", "remove"} and _are_all(int, change.voter_id)
    if not (_are_all(str, change.topic) and _are_all(int, change.partition, *change.original)):
        return False
    if isinstance(change, OrderChange):
        dropped = change.dropped
        return (
            _are_all(int, *change.adding, *change.removing)
            and {*change.adding, *change.removing} <= {*change.original}
            and sorted(change.changed) == sorted(change.original)
            and change.changed[len(change.changed) - len(dropped) :] == dropped
        )
    return {change.broker_id, change.source, change.leader} <= {*change.original}


def _are_all(kind: type, *values: Any) -> bool:
    return all(isinstance(each, kind) for each in values)
