# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the modules do, without Ansible around it: many plans on one Spark session."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import SparkSession

from ansible_collections.kafkaops.recovery.plugins.module_utils.kafka.settings import ConnectionSettings, settings_from
from ansible_collections.kafkaops.recovery.plugins.module_utils.kafka.wire import Wire
from ansible_collections.kafkaops.recovery.plugins.module_utils.model.partition import PartitionState, TopicPartition
from ansible_collections.kafkaops.recovery.plugins.module_utils.model.progress import NullProgress
from ansible_collections.kafkaops.recovery.plugins.module_utils.operations.candidates import plan_recovery
from ansible_collections.kafkaops.recovery.plugins.module_utils.operations.designated_election import (
    ElectionOptions,
    run_elections,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils.operations.policies import PolicyOptions, read_policies
from ansible_collections.kafkaops.recovery.plugins.module_utils.operations.replica_logs import gather_evidence
from ansible_collections.kafkaops.recovery.plugins.module_utils.operations.survey import Survey, survey
from ansible_collections.kafkaops.recovery.plugins.module_utils.recovery.outcome import Outcome
from ansible_collections.kafkaops.recovery.plugins.module_utils.recovery.plan import Plan
from ansible_collections.kafkaops.recovery.plugins.module_utils.recovery.policy import Policy
from ansible_collections.kafkaops.recovery.plugins.module_utils.recovery.strategy import Strategy
from lab import Cluster

_DURATION_MS = 30_000


@dataclass
class OnCall:
    """A person with this collection, and one broken cluster."""

    cluster: Cluster
    spark: SparkSession
    directory: Path

    @property
    def settings(self) -> ConnectionSettings:
        return settings_from({"bootstrap_servers": self.cluster.bootstrap(), "request_timeout_ms": 5000})

    def look(self, *topics: str) -> Survey:
        """All partitions of these topics that have no leader, and all brokers."""
        wanted = [TopicPartition(topic, number) for topic in topics for number in self.cluster.client.describe(topic)]
        with Wire(self.settings) as wire:
            return survey(wire, wanted, include_internal=True)

    def states(self, *topics: str) -> dict[TopicPartition, PartitionState]:
        return {each.topic_partition: each for each in self.look(*topics).without_leader}

    def plan(self, strategy: Strategy, *topics: str, max_lost_records: int | None = None) -> Plan:
        policies = dict.fromkeys(topics, Policy(strategy, max_lost_records))
        return self.plans({"": policies}, *topics)[""]

    def plans(self, policies: Mapping[str, Mapping[str, Policy]], *topics: str) -> dict[str, Plan]:
        """Several plans of the same evidence, by name."""
        found = self.look(*topics)
        evidence = gather_evidence(self.spark, self.settings, found, _DURATION_MS)
        return {name: plan_recovery(self.spark, evidence, each) for name, each in policies.items()}

    def policies(self, topics: Iterable[str], options: PolicyOptions) -> dict[str, Policy]:
        with Wire(self.settings) as wire:
            return read_policies(wire, topics, options, self.look(*topics).brokers)

    def carry_out(self, plan: Plan) -> tuple[Outcome, ...]:
        options = ElectionOptions(
            journal_dir=str(self.directory / "journal"), attempts=3, verify_timeout_ms=30_000, check_mode=False
        )
        with Wire(self.settings) as wire:
            return run_elections(wire, plan, options, NullProgress(), threading.Event()).outcomes
