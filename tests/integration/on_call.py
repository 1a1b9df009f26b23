# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the modules do, without Ansible around it: many plans in one process."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from ansible_collections.kafkaops.recovery.plugins.module_utils._changes.journal_reader import JournalOptions
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.port import Kafka
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.settings import ConnectionSettings, settings_from
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.wire import Wire
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import PartitionState, TopicPartition
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.run import NullProgress, Progress
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.election_run import (
    ElectionOptions,
    run_elections,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.observation import plan_drops
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.on_this_host import OnThisHost
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.outcome import Outcome
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.pipeline import gather_evidence, plan_recovery
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.plan import Plan
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.plan_file import write_plan
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.policies import (
    PolicyOptions,
    add_tiered_topics,
    read_policies,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.strategy import Policy, Strategy
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.survey import (
    Survey,
    mark_as_lost,
    survey,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.waiting import (
    Waited,
    WaitLimits,
    wait_for_brokers,
)
from lab import Cluster
from lab.module_process import start_module


@dataclass
class Steps:
    """Records the reported steps of a run."""

    texts: list[str] = field(default_factory=list)

    def step(self, text: str, done: int | None = None, total: int | None = None) -> None:
        self.texts.append(text)


@dataclass
class OnCall:
    """A person with this collection, and one broken cluster."""

    cluster: Cluster
    directory: Path
    request_timeout_ms: int = 5000
    duration_ms: int = 30_000
    attempts: int = 3
    verify_timeout_ms: int = 30_000

    @property
    def settings(self) -> ConnectionSettings:
        return settings_from(
            {"bootstrap_servers": self.cluster.bootstrap(), "request_timeout_ms": self.request_timeout_ms}
        )

    def look(self, *topics: str) -> Survey:
        """All partitions of these topics that have no leader, and all brokers."""
        wanted = [TopicPartition(topic, number) for topic in topics for number in self.cluster.client.describe(topic)]
        with Wire(self.settings) as wire:
            return survey(Kafka(wire), wanted, include_internal=True)

    def states(self, *topics: str) -> dict[TopicPartition, PartitionState]:
        return {each.topic_partition: each for each in self.look(*topics).without_leader}

    def wait(self, strategy: Strategy, limits: WaitLimits, progress: Progress, *topics: str) -> Waited:
        """Wait for the brokers that may decide the elections of these topics."""
        found = self.look(*topics)
        marked = tuple(mark_as_lost(each, limits.lost) for each in found.brokers)
        found = replace(found, brokers=marked, lost=limits.lost)
        with Wire(self.settings) as wire:
            return wait_for_brokers(Kafka(wire), found, dict.fromkeys(topics, Policy(strategy)), limits, progress)

    def plan_of(self, found: Survey, strategy: Strategy, *, may_be_empty: Collection[str] = ()) -> Plan:
        """Plan for what a survey found, without looking again. The operator lets empty logs lead some topics."""
        evidence, _notes = gather_evidence(OnThisHost(), self.settings, found, self.duration_ms)
        policies = {
            each.topic: Policy(strategy, allow_empty_leader=each.topic in may_be_empty) for each in found.offline
        }
        return plan_recovery(OnThisHost(), evidence, policies)

    def plan(
        self, strategy: Strategy, *topics: str, max_lost_records: int | None = None, may_drop: bool = False
    ) -> Plan:
        policies = dict.fromkeys(topics, Policy(strategy, max_lost_records))
        plan = self.plans({"": policies}, *topics)[""]
        with Wire(self.settings) as wire:
            return plan_drops(Kafka(wire), plan, may_drop=may_drop)

    def plans(self, policies: Mapping[str, Mapping[str, Policy]], *topics: str) -> dict[str, Plan]:
        """Several plans of the same evidence, by name."""
        found = self.look(*topics)
        with Wire(self.settings) as wire:
            found = add_tiered_topics(Kafka(wire), found)
        evidence, _notes = gather_evidence(OnThisHost(), self.settings, found, self.duration_ms)
        return {name: plan_recovery(OnThisHost(), evidence, each) for name, each in policies.items()}

    def policies(self, topics: Iterable[str], options: PolicyOptions) -> dict[str, Policy]:
        with Wire(self.settings) as wire:
            return read_policies(Kafka(wire), topics, options, self.look(*topics).brokers)

    def carry_out(
        self, plan: Plan, *, check_mode: bool = False, timeout_ms: int = 600_000, progress: Progress | None = None
    ) -> tuple[Outcome, ...]:
        options = ElectionOptions(
            journal=JournalOptions(),
            attempts=self.attempts,
            verify_timeout_ms=self.verify_timeout_ms,
            check_mode=check_mode,
            timeout_ms=timeout_ms,
        )
        with Wire(self.settings) as wire:
            return run_elections(Kafka(wire), plan, options, progress or NullProgress(), threading.Event()).outcomes

    def start_elections(self, plan: Plan) -> subprocess.Popen[str]:
        """Start to carry a plan out from a file, in a process of its own, to which signals can be sent."""
        path = self.directory / "plan.json"
        path.unlink(missing_ok=True)
        write_plan(plan, str(path))
        options = {
            "bootstrap_servers": [self.cluster.bootstrap()],
            "request_timeout_ms": self.request_timeout_ms,
            "plan_file": str(path),
        }
        return start_module("designated_election", options)
