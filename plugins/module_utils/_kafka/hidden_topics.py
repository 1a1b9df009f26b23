# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Find topics that our principal may not see. Kafka leaves them out of all metadata, but not out of DescribeLogDirs.

A verdict on all partitions of brokers is not known without them.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from .base_port import BaseKafka
from .log_dirs import LogDirs
from .settings import Address


@dataclass(frozen=True, slots=True)
class HiddenTopics:
    """What is hidden from our principal on some brokers."""

    names: tuple[str, ...]
    """Topics with replicas on the brokers, sorted."""
    unknown: Mapping[int, str]
    """Why it is not known which topics a broker has, by broker id. This needs DESCRIBE on the cluster."""


def find_hidden_topics(kafka: BaseKafka, addresses: Mapping[int, Address], known: Collection[str]) -> HiddenTopics:
    """Return what these brokers have besides the ``known`` topics. A topic that is being deleted is not hidden."""
    answers = kafka.in_parallel(lambda broker_id: kafka.describe_all_log_dirs(addresses[broker_id]), addresses)
    unknown = {
        broker_id: error
        for broker_id, answer in answers.items()
        if (error := answer.refusal if isinstance(answer, LogDirs) else str(answer))
    }
    on_disk = {each.topic for answer in answers.values() if isinstance(answer, LogDirs) for each in answer.replicas}
    return HiddenTopics(kafka.hidden_among(on_disk.difference(known)), unknown)
