# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What clients sent and saw: the facts that a history is judged by. Pure; nothing here talks to a cluster."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto

Partition = tuple[str, int]
"""A topic, and the number of its partition."""


class Outcome(Enum):
    """What a client knows of its request."""

    OK = auto()
    """It was acknowledged, or committed."""
    FAILED = auto()
    """It was aborted, or never sent."""
    UNKNOWN = auto()
    """It may have been carried out: the answer was lost, or it timed out."""


@dataclass(frozen=True)
class Write:
    """A record that a producer sent. Its value is unique in the history."""

    producer: str
    """The name of a producer instance, in whose order the writes of a partition are listed."""
    partition: Partition
    value: str
    outcome: Outcome
    offset: int | None = None
    """As the broker acknowledged it. None if a replay gave the record another place since."""
    transaction: str = ""
    """The transaction that it belongs to. Empty if it belongs to none."""
    may_repeat: bool = False
    """Whether its producer may write it twice or out of order: a retry without idempotence."""


@dataclass(frozen=True)
class Read:
    """A record that a consumer got."""

    partition: Partition
    offset: int
    value: str
    epoch: int | None = None
    """The leader epoch of its batch."""


@dataclass
class Reader:
    """A consumer, with all that it got, in its order."""

    name: str
    is_committed: bool
    """Whether it reads committed records only."""
    reads: list[Read] = field(default_factory=list)
    may_repeat: bool = False
    """Whether it may get a record again: a member of a group, after a change of its members or its coordinator."""
    is_share: bool = False
    """Whether it is the only member of a share group."""
    again: list[Read] = field(default_factory=list)
    """What a share group got again after its acknowledgment was confirmed."""
    caught_up: bool = False
    """Whether it reached the end of every partition after the last write, or had enough time to."""


@dataclass(frozen=True)
class Truth:
    """What nobody can hold against a recovery, by the disks of all replicas before it."""

    lost: Mapping[Partition, frozenset[str]] = field(default_factory=dict)
    """Values that the elected replica did not hold. The forecast announced their loss."""
    undecided: Mapping[Partition, frozenset[str]] = field(default_factory=dict)
    """Values that it held without the marker of their transaction."""
    hides: bool = False
    """Whether records may be there that no consumer of committed records gets: an election that lost the marker of a
    transaction left it open, and nobody has ended it yet."""
    unknown: frozenset[Partition] = frozenset()
    """Partitions of which it is not known what their leaders held: losses there are not judged."""
    truncated: frozenset[Partition] = frozenset()
    """Partitions whose logs were cut off by an election. Those of ``lost`` are, too."""
    commits_lost: bool = False
    """Whether a partition of __consumer_offsets was elected: commits may be lost."""
    outcomes_lost: bool = False
    """The same of __transaction_state: a coordinator may tell a producer another outcome than its markers say."""
    shares_lost: bool = False
    """The same of __share_group_state: a share group may get records again, or none (docs/groups.md)."""

    def excuses(self, partition: Partition, value: str) -> bool:
        if partition in self.unknown:
            return True
        nothing: frozenset[str] = frozenset()
        return value in self.lost.get(partition, nothing) or value in self.undecided.get(partition, nothing)

    def is_truncated(self, partition: Partition) -> bool:
        return partition in self.unknown or partition in self.truncated or bool(self.lost.get(partition))


@dataclass
class History:
    """All that the clients of a trial did, and what is in the partitions at the end."""

    writes: list[Write] = field(default_factory=list)
    transactions: dict[str, Outcome] = field(default_factory=dict)
    readers: list[Reader] = field(default_factory=list)
    left: dict[Partition, Sequence[Read]] = field(default_factory=dict)
    """Every record at the end, in the order of the log, of open and aborted transactions, too."""
    left_committed: dict[Partition, Sequence[Read]] = field(default_factory=dict)
    """The same without records of open and aborted transactions."""
    commits: dict[tuple[str, Partition], list[int]] = field(default_factory=dict)
    """Offsets that groups committed, and that were acknowledged, in their order."""
    committed_at_end: dict[tuple[str, Partition], int] = field(default_factory=dict)
    """A group without a committed offset has -1 here. One that could not be asked is missing."""
