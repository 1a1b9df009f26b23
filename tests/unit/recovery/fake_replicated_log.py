# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""One partition's replicas in memory, for thousands of histories in which every record is identified.

It follows Kafka's rules: leaders are elected from the ISR or, on demand, unclean; followers truncate by epochs
(KIP-101, KIP-279) and then copy; the high watermark is what the whole ISR holds. Whoever asks looks only at what
brokers report: log start and end, lineage, and the partition's metadata.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import count
from typing import NamedTuple

from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import NO_LEADER, PartitionState
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.candidate import Candidate
from unit.recovery.wreckage import a_candidate, an_offline_partition


class Record(NamedTuple):
    epoch: int
    offset: int
    identity: int
    """Unique for each appended record."""


@dataclass
class FakeReplica:
    start: int = 0
    records: list[Record] = field(default_factory=list)
    deleted: set[Record] = field(default_factory=set)
    """The records before the log start, as if the log had been copied from the first offset: retention removed them."""
    newest_epoch: int | None = None
    """The last epoch of the records, or of those that retention deleted last."""
    high_watermark: int = 0

    @property
    def end(self) -> int:
        return self.start + len(self.records)

    def append(self, records: list[Record]) -> None:
        self.records += records
        if records:
            self.newest_epoch = records[-1].epoch

    def delete_before(self, offset: int) -> None:
        keep = max(0, min(offset, self.end) - self.start)
        self.deleted |= set(self.records[:keep])
        del self.records[:keep]
        self.start += keep

    def truncate(self, offset: int) -> None:
        if offset < self.start:
            self.start_again(offset)
            return
        del self.records[max(0, offset - self.start) :]
        self.newest_epoch = self.records[-1].epoch if self.records else None
        self.high_watermark = min(self.high_watermark, self.end)

    def start_again(self, offset: int) -> None:
        self.start, self.records, self.newest_epoch = offset, [], None
        self.high_watermark = offset

    def epoch_end(self, epoch: int) -> tuple[int, int]:
        """Answer as OffsetsForLeaderEpoch: the largest epoch <= the given one, and its end offset."""
        older = [each for each in self.records if each.epoch <= epoch]
        return (older[-1].epoch, older[-1].offset + 1) if older else (epoch, self.start)

    def lineage(self) -> tuple[tuple[int, int], ...]:
        ends = {each.epoch: each.offset + 1 for each in self.records}
        if not ends and self.newest_epoch is not None:
            ends = {self.newest_epoch: self.end}
        return tuple(ends.items())


class FakeReplicatedLog:
    """A method has no effect if the partition's state does not allow it."""

    def __init__(self, broker_ids: range = range(1, 5)) -> None:
        self.replicas = {broker_id: FakeReplica() for broker_id in broker_ids}
        self.alive = set(broker_ids)
        self.isr = list(broker_ids)
        self.leader = self.isr[0]
        self.leader_epoch = 0
        self.acknowledged: set[Record] = set()
        """Acknowledged to producers with acks=all: below the high watermark while the leader of the write led."""
        self.readable: set[Record] = set()
        """Records that were below a leader's high watermark at any time."""
        self.led: dict[int, set[Record]] = {}
        """All records that the leader of an epoch held at its end, deleted ones included, by epoch."""
        self.is_clean = True
        """False after an unclean election."""
        self._fetched: dict[int, int] = {}
        """The leader's knowledge of the log end of each follower that fetched from it."""
        self._identities = count()

    def append(self, records: int) -> None:
        if self.leader == NO_LEADER:
            return
        log = self.replicas[self.leader]
        offsets = range(log.end, log.end + records)
        log.append([Record(self.leader_epoch, offset, next(self._identities)) for offset in offsets])
        self.led[self.leader_epoch] = {*log.records, *log.deleted}
        self._commit()

    def fetch(self, broker_id: int, most: int) -> None:
        if self.leader in (NO_LEADER, broker_id) or broker_id not in self.alive:
            return
        mine, leaders = self.replicas[broker_id], self.replicas[self.leader]
        self._truncate(mine, leaders)
        if mine.end < leaders.start or mine.end > leaders.end:
            mine.start_again(leaders.start)
        mine.append([each for each in leaders.records if each.offset >= mine.end][:most])
        mine.delete_before(leaders.start)
        mine.deleted = {each for each in {*leaders.records, *leaders.deleted} if each.offset < mine.start}
        self._fetched[broker_id] = mine.end
        if mine.end == leaders.end and broker_id not in self.isr:
            self.isr.append(broker_id)
        self._commit()
        mine.high_watermark = min(leaders.high_watermark, mine.end)

    def leave_isr(self, broker_id: int) -> None:
        if self.leader not in (NO_LEADER, broker_id) and broker_id in self.isr:
            self.isr.remove(broker_id)
            self._commit()

    def kill(self, broker_id: int) -> None:
        self.alive.discard(broker_id)
        if self.leader == NO_LEADER or broker_id not in self.isr:
            return
        if len(self.isr) > 1:
            self.isr.remove(broker_id)
        if broker_id == self.leader:
            self._lead(next((each for each in self.replicas if each in self.isr and each in self.alive), NO_LEADER))
        self._commit()

    def kill_leader(self) -> None:
        if self.leader != NO_LEADER:
            self.kill(self.leader)

    def start_isr(self) -> None:
        for broker_id in self.isr:
            self.start(broker_id)

    def start(self, broker_id: int) -> None:
        self.alive.add(broker_id)
        if self.leader == NO_LEADER and broker_id in self.isr:
            self._lead(broker_id)

    def elect_unclean(self, broker_id: int) -> None:
        if self.leader == NO_LEADER and broker_id in self.alive:
            self.is_clean = False
            self.isr = [broker_id]
            self._lead(broker_id)

    def retain(self, broker_id: int, records: int) -> None:
        log = self.replicas[broker_id]
        if broker_id in self.alive:
            log.delete_before(max(log.start, min(log.high_watermark, log.end - records)))

    def wipe(self, broker_id: int) -> None:
        if broker_id not in self.isr and broker_id not in self.alive:
            self.replicas[broker_id] = FakeReplica()

    def lose_the_leader(self) -> None:
        while self.leader != NO_LEADER:
            self.kill_leader()

    def state(self) -> PartitionState:
        """Return the metadata of a cluster without ELR."""
        return an_offline_partition(
            replicas=tuple(self.replicas), isr=self.isr, elr=None, last_known_elr=None, leader_epoch=self.leader_epoch
        )

    def candidates(self) -> list[Candidate]:
        """Return the live replicas, best first: last written epoch, log end, place in the order."""
        reported = [
            a_candidate(broker_id, *log.lineage(), log_start_offset=log.start)
            for broker_id, log in self.replicas.items()
            if broker_id in self.alive
        ]
        return sorted(
            reported,
            key=lambda each: (-1 if (epoch := each.last_written_epoch) is None else epoch, each.log_end_offset),
            reverse=True,
        )

    def held_by_others(self, broker_id: int, others: set[int]) -> set[Record]:
        """Return the records of another log that this one never had."""
        mine = self.replicas[broker_id]
        everything = {each for other in others for each in self.replicas[other].records}
        return everything - set(mine.records) - mine.deleted

    def _lead(self, broker_id: int) -> None:
        self.leader = broker_id
        self.leader_epoch += 1
        self._fetched = {}
        self._commit()

    def _commit(self) -> None:
        if self.leader == NO_LEADER:
            return
        log = self.replicas[self.leader]
        followers = [self._fetched.get(each, 0) for each in self.isr if each != self.leader]
        log.high_watermark = max(log.high_watermark, min([log.end, *followers]))
        committed = {each for each in log.records if each.offset < log.high_watermark}
        self.readable |= committed
        self.acknowledged |= {each for each in committed if each.epoch == self.leader_epoch}

    @staticmethod
    def _truncate(mine: FakeReplica, leaders: FakeReplica) -> None:
        while mine.records:
            epoch, end = leaders.epoch_end(mine.records[-1].epoch)
            if epoch == mine.records[-1].epoch and end >= mine.end:
                return
            my_epoch, my_end = mine.epoch_end(epoch)
            mine.truncate(min(end, my_end) if my_epoch == epoch else my_end)
