# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""How a run ended, for each partition that was asked for. Standard library only."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from ansible_collections.kafkaops.recovery.plugins.module_utils.model.broker import Broker
from ansible_collections.kafkaops.recovery.plugins.module_utils.model.counts import counted
from ansible_collections.kafkaops.recovery.plugins.module_utils.model.partition import TopicPartition
from ansible_collections.kafkaops.recovery.plugins.module_utils.recovery.candidate import Candidate, SilentReplica
from ansible_collections.kafkaops.recovery.plugins.module_utils.recovery.expected_loss import ExpectedLoss
from ansible_collections.kafkaops.recovery.plugins.module_utils.recovery.plan import DONE, Status


class Mode(StrEnum):
    """Whether the run was allowed to write."""

    CHECK = "check"
    APPLY = "apply"


@dataclass(frozen=True, slots=True)
class Outcome:
    """How one partition ended. What was not found out is None; a leader of -1 is known to be none."""

    topic: str
    partition: int
    status: Status
    reason: str
    """What a person can act on."""
    topic_id: str | None = None
    designated_leader: int | None = None
    """None where no election was planned."""
    leader_before: int | None = None
    leader_after: int | None = None
    leader_epoch_before: int | None = None
    leader_epoch_after: int | None = None
    replicas: tuple[int, ...] = ()
    """The replica list before the run, in its order."""
    replicas_after: tuple[int, ...] | None = None
    candidates: tuple[Candidate, ...] = ()
    silent: tuple[SilentReplica, ...] = ()
    losses: tuple[ExpectedLoss, ...] = ()
    """What electing each candidate was expected to lose, in their order."""

    @property
    def topic_partition(self) -> TopicPartition:
        return TopicPartition(self.topic, self.partition)


@dataclass(frozen=True, slots=True)
class Report:
    """One run, in order of topic, then partition."""

    cluster_id: str
    started_at: str
    """UTC, ISO 8601, seconds: 2026-01-31T23:59:59Z."""
    finished_at: str
    mode: Mode
    brokers: tuple[Broker, ...]
    outcomes: tuple[Outcome, ...]

    @property
    def summary(self) -> dict[str, int]:
        """How many partitions ended in each status; every status is there."""
        return counted((outcome.status for outcome in self.outcomes), Status)

    @property
    def is_success(self) -> bool:
        """True when every requested partition ended recovered or already online."""
        return all(outcome.status in DONE for outcome in self.outcomes)
