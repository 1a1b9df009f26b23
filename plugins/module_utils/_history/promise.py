# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Say whether a replica holds every record that was acknowledged with acks=all. Pure; standard library only.

A leader acknowledges such a record when every member of the ISR has it, and only if the ISR has ``min.insync.replicas``
members or more (KIP-966 calls the replicas that hold all of them eligible leader replicas). So the proof for a replica
that left the ISR before the leader was lost has these steps (``proof``):

1. While the replica was in the ISR, nothing was acknowledged that it did not hold.
2. After it left, the ISR was smaller than ``min.insync.replicas`` until the leader was lost. So the leader acknowledged
   nothing more. It learns of a smaller ISR later than the controller, and until then it still waits for the replica.
3. Since then, the replica has kept its records: it did not restart uncleanly (or its host ran on), its disk is the same
   and did not fail, it is not empty, no leader with fewer records made it truncate its log, and no reassignment
   deleted it.

After a controlled shutdown, step 3 has a condition, which its text names. The metadata log has the request for the
shutdown, not its end: the host did not lose power in between. And nobody has restored the disk from an older image,
which has the same directory id. Only Kafka's ELR notices that, by the broker epoch in ``.kafka_cleanshutdown``:
it takes the broker out of the ELR when it registers, and the metadata log has that. Without ELR, Kafka believes the
disk. A process that was killed leaves its records in the page cache, and loses none as long as its host runs. No log
tells when a host booted, so the operator may say it.

A step that cannot be shown makes the answer unknown, never "kept".
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from .._model.outage import Assumption
from .._model.reasons import agreeing, name_brokers


class Obstacle(StrEnum):
    """Why the promise is not proven. ``_WORDS`` says what each one means."""

    NO_HISTORY = "no_history"
    LEFT_EARLIER = "left_earlier"
    MIN_ISR_UNKNOWN = "min_isr_unknown"
    ISR_WAS_LARGE_ENOUGH = "isr_was_large_enough"
    OLDER_TOPIC = "older_topic"
    OLDER_TOPIC_UNKNOWN = "older_topic_unknown"
    UNCLEAN_ELECTION = "unclean_election"
    EARLIER_UNCLEAN_ELECTION = "earlier_unclean_election"
    EARLIER_RESTART = "earlier_restart"
    EARLIER_LOSSES_UNKNOWN = "earlier_losses_unknown"
    WAS_NO_REPLICA = "was_no_replica"
    UNCLEAN_RESTART = "unclean_restart"
    LEFT_ELR = "left_elr"
    LOG_DIR_FAILED = "log_dir_failed"
    DISK_REPLACED = "disk_replaced"
    DISK_UNKNOWN = "disk_unknown"
    LEADER_RESTARTED = "leader_restarted"
    LEADER_DISK_REPLACED = "leader_disk_replaced"
    LEADER_DISK_UNKNOWN = "leader_disk_unknown"
    EMPTY = "empty"
    ENDS_EARLY = "ends_early"
    NOT_DECODED = "not_decoded"
    CLOCKS_DIFFER = "clocks_differ"


@dataclass(frozen=True, slots=True)
class Promise:
    """Whether a replica holds all records that were acknowledged with acks=all. Times are of the metadata log."""

    broker_id: int
    obstacle: Obstacle | None
    """None: it is proven that it holds all of them."""
    left_at_ms: int | None = None
    """When it left the ISR."""
    lost_at_ms: int | None = None
    """When the partition lost its leader."""
    at_ms: int | None = None
    """When the obstacle occurred."""
    isr: tuple[int, ...] = ()
    """Of ISR_WAS_LARGE_ENOUGH: the ISR."""
    other: int | None = None
    """Of EARLIER_RESTART: the broker that restarted."""
    min_isr: int | None = None
    """The smallest min.insync.replicas since it left, at most the number of replicas (KAFKA-15583)."""
    restarted: tuple[int, ...] = ()
    """The brokers that were shut down and started since, and whose disks count as they were."""
    killed: tuple[int, ...] = ()
    """The brokers that ended without a shutdown since, and were started, while their hosts ran on."""
    unseen: tuple[Assumption, ...] = ()
    """What the promise rests on, and what the retention of the log has removed."""
    is_unread: bool = False
    """An earlier part of the log may change it."""

    @property
    def is_kept(self) -> bool:
        return self.obstacle is None

    @property
    def keeps_its_log(self) -> bool:
        """Whether the replica still holds what it held when it left the ISR. False if this cannot be shown."""
        return self.obstacle not in _LOG_MAY_BE_LOST

    @property
    def keeps_its_end(self) -> bool:
        """Whether its log surely ends where it ended then. A host that loses power loses what was not synced yet.

        No log tells that from a process that was killed. And it deletes what a later leader did not hold.
        """
        return self.keeps_its_log and self.obstacle not in _END_MAY_BE_LOST

    @property
    def doubt(self) -> str:
        """What an estimate by the end of its log rests on: a clause. Empty if its log surely ends there."""
        text = "" if self.obstacle is None else _END_MAY_BE_LOST.get(self.obstacle, "")
        return text.format(broker=self.broker_id, other=self.other)

    @property
    def assumptions(self) -> tuple[Assumption, ...]:
        """What must be true if its log is to end where it ended then, and if it is kept, and no log shows."""
        if not self.keeps_its_end:
            return ()
        needed = {
            Assumption.SHUTDOWN_COMPLETED: self.restarted,
            Assumption.BOOT_TIMES_RIGHT: self.killed,
            Assumption.DISK_NOT_OLDER: self.restarted or self.killed,
        }
        return (*(each for each, brokers in needed.items() if brokers), *(self.unseen if self.is_kept else ()))


_LOST_POWER = "if the host of broker {broker} did not lose power"
_END_MAY_BE_LOST = {
    Obstacle.UNCLEAN_ELECTION: "besides what the leader lacked that was elected since then and was not in sync",
    Obstacle.EARLIER_RESTART: "if broker {other} lost nothing by its earlier restart",
    Obstacle.UNCLEAN_RESTART: _LOST_POWER,
    Obstacle.LEFT_ELR: _LOST_POWER,
    Obstacle.LOG_DIR_FAILED: _LOST_POWER,
    Obstacle.LEADER_RESTARTED: "if the leader lost nothing by its restart since then",
}
"""What an estimate of its loss rests on then."""
_LOG_MAY_BE_LOST = frozenset(
    {
        Obstacle.WAS_NO_REPLICA,
        Obstacle.DISK_REPLACED,
        Obstacle.DISK_UNKNOWN,
        Obstacle.LEADER_DISK_REPLACED,
        Obstacle.LEADER_DISK_UNKNOWN,
        Obstacle.EMPTY,
        Obstacle.ENDS_EARLY,
        Obstacle.NOT_DECODED,
        Obstacle.CLOCKS_DIFFER,
    }
)

_WORDS = {
    Obstacle.NO_HISTORY: "the metadata log does not say when the partition lost its leader",
    Obstacle.LEFT_EARLIER: "broker {broker} left the ISR before the metadata log that could be read begins",
    Obstacle.MIN_ISR_UNKNOWN: (
        "no record says what min.insync.replicas was: it came from the last leader's own properties, or it changed"
    ),
    Obstacle.ISR_WAS_LARGE_ENOUGH: (
        "without broker {broker} the ISR was {isr}, and min.insync.replicas was {min_isr}: the others may have "
        "acknowledged records that it does not hold"
    ),
    Obstacle.OLDER_TOPIC: (
        "without broker {broker} the ISR was {isr}. A deleted topic of the same name had min.insync.replicas "
        "{min_isr}, and the leader, which started later, may use that although it describes the new value"
    ),
    Obstacle.OLDER_TOPIC_UNKNOWN: (
        "a leader may use the min.insync.replicas of a topic of the same name that was deleted before the leader "
        "started: the metadata log that could be read does not say whether there was one"
    ),
    Obstacle.UNCLEAN_ELECTION: "since it left the ISR, a leader was elected that was not in sync",
    Obstacle.EARLIER_UNCLEAN_ELECTION: (
        "earlier, a leader was elected that was not in sync, and not every replica has been in sync since then: one of "
        "them may hold records that were acknowledged before that election"
    ),
    Obstacle.EARLIER_RESTART: (
        "earlier, broker {other} stayed in the ISR while it restarted, and may have lost the end of its log: no record "
        "says that it was shut down properly, or that it has the same disk. Another replica may hold records that were "
        "acknowledged before that. If broker {other} was killed, and its host ran on, host_boot_times can prove that "
        "it lost nothing"
    ),
    Obstacle.EARLIER_LOSSES_UNKNOWN: (
        "not every replica has been in sync in the metadata log that could be read. If a leader that was not in sync "
        "was elected before that, one of them may hold records that were acknowledged before that election"
    ),
    Obstacle.WAS_NO_REPLICA: "broker {broker} was no replica for a while since it left the ISR, so its log was deleted",
    Obstacle.UNCLEAN_RESTART: (
        "broker {broker} restarted since then, and no record says that it was shut down properly: if it was killed, "
        "and its host ran on, host_boot_times can prove that it lost nothing"
    ),
    Obstacle.LEFT_ELR: (
        "Kafka took broker {broker} out of the ELR when it came back: its disk is not as the broker left it, as after "
        "a power loss, or when it is restored from an older image"
    ),
    Obstacle.LOG_DIR_FAILED: (
        "a log directory of broker {broker} was offline before the broker restarted: records that were not synced to "
        "it may be lost"
    ),
    Obstacle.DISK_REPLACED: "broker {broker} came back with another log directory",
    Obstacle.DISK_UNKNOWN: (
        "broker {broker} restarted since then, and the metadata log that was read does not name its log directories "
        "before and after that: it may have another disk"
    ),
    Obstacle.LEADER_RESTARTED: (
        "the leader restarted since then, and may have lost the end of its log: no record says that it was shut down "
        "properly, or a log directory of it was offline before. Broker {broker} may have truncated its log to it. If "
        "the leader was killed, and its host ran on, host_boot_times can prove that it lost nothing"
    ),
    Obstacle.LEADER_DISK_REPLACED: (
        "the leader came back with another log directory since then, and broker {broker} may have truncated its log to "
        "it"
    ),
    Obstacle.LEADER_DISK_UNKNOWN: (
        "the leader restarted since then, and the metadata log that was read does not name its log directories before "
        "and after that: it may have another disk, and broker {broker} may have truncated its log to it"
    ),
    Obstacle.ENDS_EARLY: (
        "the copy of the metadata log does not say what happened to broker {broker} since: take that of a running node"
    ),
    Obstacle.NOT_DECODED: "the metadata log has records that this version of the collection does not know",
    Obstacle.CLOCKS_DIFFER: (
        "since broker {broker} left the ISR, the times in the metadata log do not follow its order: the controllers' "
        "clocks differ"
    ),
    Obstacle.EMPTY: "the log of broker {broker} is empty, or its end is not known",
}
_KEPT = (
    "after broker {broker} left the ISR, the ISR was smaller than min.insync.replicas ({min_isr}), so nothing was "
    "acknowledged with acks=all that it does not hold"
)
_SHUT_DOWN = (
    "; {brokers} {were} shut down and started since: this holds unless a host lost power before its broker had "
    "stopped, or a disk was restored from an older image then"
)
_KILLED = (
    "; {brokers} {were} started since without a shutdown before, and the host ran on, by the boot times that were "
    "given: this holds unless they are wrong, or a disk was restored from an older image then"
)

_UNSEEN = {
    Assumption.NO_EARLIER_LOSSES: (
        "; this holds unless a leader was elected that was not in sync, or lost records by a restart, before the "
        "metadata log begins: not every replica has been in sync since then"
    ),
    Assumption.NO_OLDER_TOPIC: (
        "; this holds unless a topic of the same name, with a smaller min.insync.replicas, was deleted in the hour "
        "before a leader started: the metadata log begins later"
    ),
}


def explain_promise(promise: Promise) -> str:
    """Return the proof in one sentence, or why there is none."""
    text = _KEPT if promise.obstacle is None else _WORDS[promise.obstacle]
    text = text.format(broker=promise.broker_id, other=promise.other, isr=[*promise.isr], min_isr=promise.min_isr)
    if promise.keeps_its_end:
        for condition, brokers in ((_SHUT_DOWN, promise.restarted), (_KILLED, promise.killed)):
            were = agreeing("were", len(brokers))
            text += condition.format(brokers=name_brokers(brokers), were=were) if brokers else ""
    if promise.is_kept:
        text += "".join(_UNSEEN[each] for each in promise.unseen)
    return text
