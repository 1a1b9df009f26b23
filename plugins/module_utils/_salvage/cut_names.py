# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Find the whole topic name of directories whose name Kafka has cut. Only the topic id proves it.

Kafka renames the directory of a deleted or dropped replica. The new name has a suffix of 41 characters or more, and at
most 255 in all. So a topic with a name of 214 characters or more may lose its end, and look like another topic.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from .._model.partition import PartitionState
from .finding import DiskFinding, DiskReplica, SalvageStatus, build_finding


def complete_names(replicas: Sequence[DiskReplica], states: Iterable[PartitionState]) -> list[DiskReplica]:
    """Return the replicas with whole names where another directory or the cluster has the topic id.

    The others keep ``is_cut``: nobody knows the topic id, or the directory has none.
    """
    names = {each.topic_id: each.topic for each in states}
    names |= {each.directory.topic_id or "": each.directory.topic for each in replicas if not each.directory.is_cut}
    return [_complete(each, names) for each in replicas]


def _complete(replica: DiskReplica, names: Mapping[str, str]) -> DiskReplica:
    directory = replica.directory
    name = names.get(directory.topic_id) if directory.is_cut and directory.topic_id else None
    if name is None or not name.startswith(directory.topic):
        return replica
    return replace(replica, directory=replace(directory, topic=name, is_cut=False))


def may_be_of(replica: DiskReplica, topics: Collection[str]) -> bool:
    """Return whether a replica is of one of the topics, or of one whose name begins like its directory's name."""
    directory = replica.directory
    return directory.topic in topics or (directory.is_cut and any(each.startswith(directory.topic) for each in topics))


def set_unproven_apart(replicas: Sequence[DiskReplica]) -> tuple[list[DiskReplica], list[DiskFinding]]:
    """Return the replicas whose topic is known or has an id, and a finding for each other one.

    Without an id, a cut name could be taken for a topic that has this name.
    """
    unproven = [each for each in replicas if each.directory.is_cut and each.directory.topic_id is None]
    findings = [build_finding(each, SalvageStatus.FAILED, _explain(each), None) for each in unproven]
    return [each for each in replicas if each not in unproven], findings


def _explain(replica: DiskReplica) -> str:
    directory = replica.directory
    return (
        f"the topic of {directory.path} is unknown: Kafka cuts long topic names in such directories, and this one has "
        "no topic id. If you know the topic, copy the directory under the name TOPIC-"
        f"{directory.partition}, and meta.properties, to a directory of their own, and salvage that"
    )
