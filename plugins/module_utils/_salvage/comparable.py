# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Decide which replicas on a disk can be compared with a leader, and say why the others cannot. Does no I/O."""

from __future__ import annotations

from collections.abc import Sequence

from .._kafka.partitions import Description, TopicError
from .._model.partition import PartitionState
from .finding import Absence, Comparable, DiskFinding, DiskReplica, SalvageStatus, build_finding, group_by_topic_id


def compare_with_metadata(
    replicas: Sequence[DiskReplica], description: Description
) -> tuple[list[Comparable], list[DiskFinding]]:
    """Return the partitions that can be compared with a leader, and a finding with a reason for each other one."""
    states = {each.topic_partition: each for each in description.partitions}
    refused = {each.topic: each for each in description.refused}
    comparable, findings = [], []
    for found in group_by_topic_id(replicas, {each: state.topic_id for each, state in states.items()}):
        partition = found[0].topic_partition
        state = states.get(partition)
        obstacle = _find_obstacle(found, state, refused.get(partition.topic))
        if obstacle is not None:
            findings.append(build_finding(found[0], *obstacle))
        elif state is not None:
            comparable.append(Comparable(found, state))
    return comparable, findings


def _find_obstacle(
    found: Sequence[DiskReplica], state: PartitionState | None, refused: TopicError | None
) -> tuple[SalvageStatus, str, Absence | None] | None:
    partition = found[0].topic_partition
    if refused is not None and refused.is_unauthorized:
        return SalvageStatus.FAILED, f"topic {partition.topic} cannot be looked at: {refused}", None
    if state is None:
        what = f"topic {partition.topic}" if refused is not None else str(partition)
        absence = Absence.NO_TOPIC if refused is not None else Absence.NO_PARTITION
        return (
            SalvageStatus.LEFT_ALONE,
            f"the cluster has no {what}, or our principal needs DESCRIBE on the topic",
            absence,
        )
    topic_id = found[0].directory.topic_id
    if topic_id is not None and topic_id != state.topic_id:
        if found[0].directory.is_cut:
            return SalvageStatus.LEFT_ALONE, f"the cluster has no topic with id {topic_id}", Absence.NO_TOPIC
        what = f"the topic was re-created: its id is {state.topic_id}, and on the disk {topic_id}"
        return SalvageStatus.LEFT_ALONE, what, Absence.OTHER_TOPIC
    if state.is_offline:
        return SalvageStatus.FAILED, _describe_without_leader(state, found[0].log_dir.node_id), None
    return None


def _describe_without_leader(state: PartitionState, broker_id: int) -> str:
    """Say why there is nothing to compare the disk of a broker with, and what loses nothing.

    Recovery may advise to start this broker: its replica is the only one, or the last in-sync one. Without a leader, a
    replica is not truncated, so what its start can delete is in the other partitions on the disk.
    """
    start = (
        f"start broker {broker_id} once all other partitions on its disks are saved: without a leader, nothing of this "
        "one is deleted"
    )
    if {*state.replicas} - {*state.offline_replicas, broker_id}:
        return (
            "it has no leader to compare the disk with. Look at its recovery "
            "(playbook kafkaops.recovery.recover_offline_partitions with "
            f"--check). If that can elect another replica, recover the partition, and salvage again before broker "
            f"{broker_id} starts. If it says to start broker {broker_id}, {start}"
        )
    return f"it has no leader to compare the disk with, and no online broker has a replica: {start}"
