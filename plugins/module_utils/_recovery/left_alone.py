# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Bring the outcomes of partitions that a plan leaves alone up to date: they may have got or lost a leader since."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from .._kafka.errors import CallError
from .._kafka.partitions import PartitionStates
from .._kafka.port import Kafka
from .._model.partition import NO_LEADER, TopicPartition
from .._model.reason import because, say
from .outcome import Outcome
from .plan import Status

_LEFT_OFFLINE = (Status.REFUSED, Status.UNRECOVERABLE)


def find_led_meanwhile(kafka: Kafka, outcomes: Mapping[TopicPartition, Outcome]) -> dict[TopicPartition, Outcome]:
    """Return the new outcomes of partitions that got a leader since they were left alone: by a run at the same time."""
    waiting = [each for each in outcomes.values() if each.status in _LEFT_OFFLINE and each.leader_after == NO_LEADER]
    if not waiting:
        return {}
    try:
        metadata = kafka.read_partition_states([each.topic_partition for each in waiting])
    except CallError:
        return {}
    found = {each.topic_partition: update_left_alone(each, metadata) for each in waiting}
    return {partition: each for partition, each in found.items() if each.status is Status.ALREADY_ONLINE}


def update_left_alone(outcome: Outcome, metadata: PartitionStates) -> Outcome:
    """Return the outcome of a partition that the plan leaves alone, with the leader that it has now."""
    state = metadata.states.get(outcome.topic_partition)
    was_online = outcome.status is Status.ALREADY_ONLINE
    if state is None:
        seen = replace(outcome, leader_after=None, leader_epoch_after=None)
        why = "it is not in the metadata any more, or our principal needs DESCRIBE on the topic: look at it"
        return replace(seen, status=Status.UNKNOWN, reason=because(why)) if was_online else seen
    seen = replace(outcome, leader_after=state.leader_id, leader_epoch_after=state.leader_epoch)
    if outcome.status in _LEFT_OFFLINE and not state.is_offline:
        why = say("broker {broker} leads it: it got a leader since the plan was made", broker=state.leader_id)
        return replace(seen, status=Status.ALREADY_ONLINE, reason=because(why), refused_by=None, cause=None)
    if was_online and state.is_offline:
        why = "it has lost its leader since the plan was made: make a new plan"
        return replace(seen, status=Status.REFUSED, reason=because(why))
    if was_online and state.leader_id != outcome.leader_before:
        return replace(seen, reason=say("broker {broker} leads it", broker=state.leader_id))
    return seen
