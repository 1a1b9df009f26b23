# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Find whether partitions that have a leader again take records with acks=all. Only reads.

A leader refuses such a record (NOT_ENOUGH_REPLICAS) while its ISR is smaller than ``min.insync.replicas``, or than the
number of replicas if that is smaller (KAFKA-15583). Until then, the high watermark of the partition stands still too.

A leader that applies metadata late does not know that it is elected, and refuses every record for that time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from .._kafka.port import Kafka
from .._model.partition import NO_LEADER, PartitionState, TopicPartition, effective_min_isr
from .._model.reasons import plural, ranges
from .._model.run import KafkaOpsError
from .aftermath_findings import partition_finding
from .outcome import AftermathFinding, AftermathKind, Outcome
from .plan import DONE

_PAUSE_S = 0.25
_MOST_S = 5.0
"""How long replicas that are online get to follow the new leader and join the ISR."""


def add_writability(kafka: Kafka, outcomes: Sequence[Outcome]) -> tuple[Outcome, ...]:
    """Add the ISR after the run, and how many members acks=all needs. What cannot be read stays None.

    Waits for live replicas that still truncate, if they decide whether their partition is writable. Whether a leader
    takes records that applies metadata late is not known either.
    """
    done = {each.topic_partition for each in outcomes if each.status in DONE}
    if not done:
        return tuple(outcomes)
    leaders = {each.leader_after for each in outcomes if each.status in DONE}
    try:
        unfenced = kafka.describe_cluster().unfenced
        leading = {each: address for each, address in unfenced.items() if each in leaders}
        configured = kafka.min_insync_replicas({each.topic for each in done}, leading)
        states = _read_settled(kafka, done, configured)
        late = kafka.find_late(leading)
    except KafkaOpsError:
        return tuple(outcomes)
    in_time = {partition: each for partition, each in states.items() if each.leader_id not in late}
    return tuple(_add(each, in_time.get(each.topic_partition), configured) for each in outcomes)


def find_unwritable(outcomes: Iterable[Outcome]) -> Iterator[AftermathFinding]:
    """Yield the partitions that take no record with acks=all, and what that means for clients."""
    for each in outcomes:
        if each.status in DONE and each.isr_after is not None and each.required_isr and not each.is_writable:
            have = f"its ISR is [{ranges(each.isr_after)}], and acks=all needs {plural(each.required_isr, 'member')}"
            text = (
                f"{have}: producers with acks=all fail with NotEnoughReplicas, and consumers may not see the newest "
                "records"
            )
            yield partition_finding(AftermathKind.NOT_WRITABLE, text, each.topic_partition)


def _read_settled(
    kafka: Kafka, wanted: set[TopicPartition], configured: Mapping[str, int]
) -> dict[TopicPartition, PartitionState]:
    """Return the states, once no replica that is online can still make its partition writable, or in 5 s."""
    clock = kafka.clock
    ends = clock.monotonic() + _MOST_S
    found: dict[TopicPartition, PartitionState] = {}
    while wanted:
        found |= kafka.read_partition_states(wanted).states
        wanted = {each for each in wanted if each in found and _may_become_writable(found[each], configured)}
        if clock.monotonic() >= ends:
            break
        if wanted:
            clock.sleep(_PAUSE_S)
    return found


def _may_become_writable(state: PartitionState, configured: Mapping[str, int]) -> bool:
    if state.topic not in configured or state.leader_id == NO_LEADER:
        return False
    required = effective_min_isr(configured[state.topic], len(state.replicas))
    return len(state.isr) < required <= len({*state.replicas} - {*state.offline_replicas})


def _add(outcome: Outcome, state: PartitionState | None, configured: Mapping[str, int]) -> Outcome:
    if outcome.status not in DONE or state is None or state.topic not in configured:
        return outcome
    return replace(
        outcome,
        isr_after=state.isr if state.leader_id != NO_LEADER else (),
        required_isr=effective_min_isr(configured[state.topic], len(state.replicas)),
    )
