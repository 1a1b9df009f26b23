# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Ask leaders about their logs: where they start and end, where epochs end in them, and for records by their time."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from .._kafka.cluster import Cluster
from .._kafka.error_codes import OFFSET_OUT_OF_RANGE
from .._kafka.held_replicas import known_offsets
from .._kafka.port import Kafka
from .._kafka.settings import Address
from .._model.partition import EpochEnd, PartitionState, TopicPartition
from .divergence import PresentLog, TimeOffset


@dataclass(frozen=True, slots=True)
class LogReader:
    """Asks leaders where their logs start and end, where epochs end in them, and for records by their time."""

    kafka: Kafka
    cluster: Cluster
    described: Mapping[TopicPartition, PartitionState]
    """The partitions with a leader, described before the epochs to ask for were read."""
    epochs: Mapping[TopicPartition, Collection[int]]
    """The leader epochs to ask for. Their partitions are asked."""
    first_lost: Mapping[TopicPartition, int]
    """The first offset of each partition that the salvage holds and the leader lacked then."""
    lost_epochs: Mapping[TopicPartition, int]
    """The leader epochs of these. An election since the salvage may have lost more: the logs diverge where they end."""
    time: datetime | None
    """The time whose first record is asked for, in UTC."""

    def read(self) -> dict[TopicPartition, PresentLog]:
        """Return the logs. A partition without a complete answer has none."""
        led = ((name, self.described[name].leader_id) for name in sorted(self.epochs) if name in self.described)
        answers = self.kafka.ask_replicas(self.cluster.addresses, led, lambda *asked: dict(self._ask(*asked)))
        return {name: log for (name, _leader), log in answers.items()}

    def _ask(self, address: Address, names: Sequence[TopicPartition]) -> Iterator[tuple[TopicPartition, PresentLog]]:
        starts = known_offsets(self.kafka.log_start_offsets(address, names))
        ends = known_offsets(self.kafka.log_end_offsets(address, names))
        cuts: dict[tuple[TopicPartition, int], int | None] = {}
        for questions in _rounds({name: self.epochs[name] for name in names}):
            cuts |= _ask_epochs(self.kafka, address, questions)
        times = self._first_at_time(address, names)
        for name in names:
            start, end, at_time = starts.get(name), ends.get(name), times.get(name)
            if start is None or end is None or any((name, each) not in cuts for each in self.epochs[name]):
                continue
            if self.time is not None and at_time is None:
                continue
            if at_time is not None and at_time.offset < 0:
                at_time = replace(at_time, offset=end)
            of_epochs = {each: _or_end(cuts[name, each], end) for each in self.epochs[name]}
            # A leader that was elected in between has its own epoch in its log.
            state = self.described[name]
            above = [each for each in self.epochs[name] if cuts[name, each] is None]
            former = frozenset(each for each in above if each > state.leader_epoch)
            first_lost = self.first_lost.get(name)
            if first_lost is not None:
                first_lost = min(first_lost, of_epochs.get(self.lost_epochs.get(name, -1), first_lost))
            yield (
                name,
                PresentLog(
                    start,
                    end,
                    of_epochs.__getitem__,
                    first_lost,
                    at_time,
                    former,
                    topic_id=state.topic_id,
                    leader_epoch=state.leader_epoch,
                ),
            )

    def _first_at_time(self, address: Address, names: Sequence[TopicPartition]) -> dict[TopicPartition, TimeOffset]:
        """Return the first records at the time or after it. The offset is -1 if there is none."""
        if self.time is None:
            return {}
        answers = self.kafka.offsets_at(address, dict.fromkeys(names, round(self.time.timestamp() * 1000)))
        text = self.time.isoformat().replace("+00:00", "Z")
        return {name: TimeOffset(text, each) for name, each in known_offsets(answers).items()}


def _or_end(cut: int | None, end: int) -> int:
    return end if cut is None else cut


def _rounds(epochs: Mapping[TopicPartition, Collection[int]]) -> Iterator[dict[TopicPartition, int]]:
    """Yield questions with one epoch of each partition: a broker answers a partition once for each request."""
    left = {name: sorted(each) for name, each in epochs.items() if each}
    while left:
        yield {name: each.pop() for name, each in left.items()}
        left = {name: each for name, each in left.items() if each}


def _ask_epochs(
    kafka: Kafka, address: Address, questions: Mapping[TopicPartition, int]
) -> dict[tuple[TopicPartition, int], int | None]:
    """Return where each epoch ends in the log; None if the log has no newer epoch."""
    answers = kafka.epoch_ends(address, questions)
    cuts: dict[tuple[TopicPartition, int], int | None] = {}
    for name, epoch in questions.items():
        answer = answers.get(name.topic, {}).get(name.partition)
        if isinstance(answer, EpochEnd):
            cuts[name, epoch] = answer.end_offset
        elif answer is not None and answer.times == 1 and answer.error_code == OFFSET_OUT_OF_RANGE:
            cuts[name, epoch] = None
    return cuts
