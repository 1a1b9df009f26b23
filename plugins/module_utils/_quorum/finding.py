# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Define a finding: something that is wrong with a quorum, in words and numbers. Standard library only."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any

from .._model.fields import Meta, NodeId, WrittenAs


class Severity(StrEnum):
    """How soon somebody must act."""

    CRITICAL = "critical"
    """The quorum does not work, or cannot bear one more failure."""
    WARNING = "warning"
    """The quorum works, but something is wrong."""
    INFO = "info"
    """Nothing is wrong, but it matters for changes."""


class FindingKind(StrEnum):
    """Type of a finding. The first paragraphs of KIP-996 describe servers that disrupt a quorum."""

    NO_LEADER = "no_leader"
    TWO_LEADERS = "two_leaders"
    MAJORITY_NOT_CAUGHT_UP = "majority_not_caught_up"
    VOTER_NOT_FETCHING = "voter_not_fetching"
    VOTER_LAGS = "voter_lags"
    NEW_VOTER_NOT_CAUGHT_UP = "new_voter_not_caught_up"
    DISK_REPLACED = "disk_replaced"
    EPOCH_CHURN = "epoch_churn"
    EPOCH_AHEAD = "epoch_ahead"
    REMOVED_VOTER_ACTIVE = "removed_voter_active"
    VOTER_JOINED = "voter_joined"
    CONTROLLER_SILENT = "controller_silent"
    REMOVED_CONTROLLER_REGISTERED = "removed_controller_registered"
    TIMEOUTS_TOO_LOW = "timeouts_too_low"
    TIMEOUTS_DIFFER = "timeouts_differ"
    SINGLE_VOTER = "single_voter"
    EVEN_VOTERS = "even_voters"
    PRE_VOTE_MISSING = "pre_vote_missing"


DISRUPTIVE = frozenset(
    {
        FindingKind.TWO_LEADERS,
        FindingKind.VOTER_NOT_FETCHING,
        FindingKind.NEW_VOTER_NOT_CAUGHT_UP,
        FindingKind.DISK_REPLACED,
        FindingKind.EPOCH_CHURN,
        FindingKind.EPOCH_AHEAD,
        FindingKind.REMOVED_VOTER_ACTIVE,
        FindingKind.TIMEOUTS_TOO_LOW,
    }
)
"""Findings that cause an election if Pre-Vote is missing."""


@dataclass(frozen=True, slots=True)
class Fact:
    """One number that shows a finding, in the form of the report."""

    name: str
    value: str


def _evidence(values: Mapping[str, Any]) -> tuple[Fact, ...]:
    return tuple(Fact(name, value if isinstance(value, str) else json.dumps(value)) for name, value in values.items())


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong with the quorum, or that matters for changes."""

    kind: FindingKind
    severity: Severity
    node_ids: tuple[NodeId, ...]
    """The controllers concerned; empty if the finding concerns the whole quorum, or if no id is known."""
    evidence: Annotated[
        Mapping[str, Any],
        WrittenAs(
            Annotated[
                tuple[Annotated[Fact, Meta(description="a piece of evidence is an object")], ...],
                Meta(description="the evidence is a list"),
            ],
            _evidence,
        ),
    ]
    """The numbers that show the finding, by name."""
    meaning: str
    remedy: str
