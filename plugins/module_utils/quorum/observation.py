# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What was seen of a quorum, by whom and when. Standard library only: what is made of it is pure."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from ansible_collections.kafkaops.recovery.plugins.module_utils.model.quorum import QuorumState
from ansible_collections.kafkaops.recovery.plugins.module_utils.model.replica_log import Cause

DEFAULT_FETCH_TIMEOUT_MS = 2000
"""Kafka's own default of controller.quorum.fetch.timeout.ms."""


@dataclass(frozen=True, slots=True)
class Controller:
    """A controller asked on its own listener. What it did not tell is None."""

    address: str
    node_id: int | None = None
    supports_pre_vote: bool | None = None
    fetch_timeout_ms: int | None = None
    election_timeout_ms: int | None = None
    auto_join: bool | None = None
    cause: Cause | None = None
    """Why it did not answer; None when it did."""
    error: str = ""

    @property
    def name(self) -> str:
        """For a person."""
        return self.address if self.node_id is None else f"{self.node_id} ({self.address})"


@dataclass(frozen=True, slots=True)
class View:
    """What one controller takes for true, at one moment."""

    address: str
    node_id: int | None
    """Known of whoever claims leadership."""
    leader_id: int | None
    """Whom it follows; None when it knows no leader, or did not tell."""
    epoch: int | None
    """The epoch that it is in itself; None when our principal may not ask."""
    claims_leadership: bool


@dataclass(frozen=True, slots=True)
class Look:
    """The quorum at one moment of the window, ``at_ms`` after its start, which is the end of the first look."""

    at_ms: int
    state: QuorumState | None
    """As the leader of the newest epoch tells it; None when nobody who leads could be asked."""
    views: tuple[View, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Observation:
    """Everything that findings and verdicts are made of."""

    cluster_id: str | None
    looks: tuple[Look, ...]
    """In order of time, at least one."""
    controllers: tuple[Controller, ...] = ()
    """Those that were asked directly, in order of id."""
    broker_ids: frozenset[int] | None = None
    """Every registered broker; None where fenced brokers are not listed (before Kafka 4.0)."""
    listed_broker_ids: frozenset[int] = frozenset()
    """The registered brokers that are listed, be they all or not."""
    kraft_version: int | None = None
    metadata_version: int | None = None
    """The finalised feature level, as in ``kafka-features.sh describe``."""
    fetch_timeout_ms: int | None = None
    """The leader's own, or the shortest that could be read, of controllers before brokers."""
    election_timeout_ms: int | None = None
    """The longest that could be read, likewise."""
    silence: str = ""
    """Why no leader could be asked, for a person; empty when one was."""

    @cached_property
    def state(self) -> QuorumState | None:
        """The quorum as it was seen last."""
        return self.looks[-1].state

    @property
    def window_ms(self) -> int:
        """From the first look to the last."""
        return self.looks[-1].at_ms - self.looks[0].at_ms

    @property
    def caught_up_within_ms(self) -> int:
        """How old a voter's last caught-up time may be. Below Kafka's default, idle followers would seem to lag."""
        return max(self.fetch_timeout_ms or 0, DEFAULT_FETCH_TIMEOUT_MS)

    def controller(self, node_id: int) -> Controller | None:
        """The controller with this id, where it was asked."""
        return next((each for each in self.controllers if each.node_id == node_id), None)
