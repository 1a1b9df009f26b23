# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Build the report of a quorum's recovery. It has no secret.

Pure; standard library only. Schema: docs/schemas/quorum-recovery-report.schema.json.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from .._documents.dataclass_json import timed_report
from .._model.fields import Count, LeaderEpoch, Meta, NodeId, Offset
from .beyond import Beyond
from .copy import LogCopy
from .plan import QuorumDecision, QuorumPlan


@dataclass(frozen=True, slots=True, kw_only=True)
class Verified:
    """What the recovered quorum looks like."""

    leader_id: NodeId
    leader_epoch: LeaderEpoch
    high_watermark: Offset
    voters: tuple[NodeId, ...]
    """The survivor, and those that were added since."""
    brokers: tuple[NodeId, ...]
    """Nodes that fetch from the leader and are no voters."""
    missing_brokers: Count
    """How many brokers the log knows besides. The quorum is recovered, but these do not follow it."""
    since: tuple[str, ...]
    """What was written to the log since the recovery, in words."""
    backup: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RecoveryReport:
    """What was found, planned and done."""

    copies: Annotated[tuple[LogCopy, ...], Meta(description="the copies of the metadata log are a list")]
    refusals: tuple[str, ...]
    must_stop: tuple[str, ...]
    notes: tuple[str, ...]
    beyond: Annotated[tuple[Beyond, ...], Meta(description="what other copies hold is a list")]
    plan: QuorumPlan | None
    outcome: Verified | None
    """None if the quorum was not recovered and verified by this run."""


QUORUM_RECOVERY_REPORT, encode_recovery_report = timed_report(
    "quorum-recovery-report",
    "How a controller quorum was recovered",
    RecoveryReport,
    "a report of a quorum's recovery is an object",
)


def report_of(copies: Sequence[LogCopy], decision: QuorumDecision, outcome: Verified | None) -> RecoveryReport:
    """Return the report."""
    return RecoveryReport(
        copies=tuple(copies),
        refusals=(*decision.refusals, *decision.absent),
        must_stop=decision.must_stop,
        notes=decision.notes,
        beyond=decision.beyond,
        plan=decision.plan,
        outcome=outcome,
    )
