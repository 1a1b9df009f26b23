# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Asks one controller, on its own listener, for its state and its view of the quorum."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from typing import Any

from .._kafka import quorum
from .._kafka.addresses import Address
from .._kafka.errors import BrokerCallError, RequestRefusedError
from .._kafka.wire import Wire
from .._model.quorum import QuorumState
from .._model.replica_log import Cause
from .._model.run import Clock
from .observation import Controller, View

_SPENT_BELOW = 0.1
"""The part of a limit that may be left of one that is used up: timers end a little early."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a controller said at one look; ``state`` is None unless it leads."""

    state: QuorumState | None
    view: View


@dataclass(slots=True)
class ControllerWatch:
    """One controller during the window. Once it has stayed silent for its whole limit, it is not asked again."""

    wire: Wire
    address: Address
    clock: Clock = time
    peers: dict[int, Address] = field(default_factory=dict)
    """All controllers, by their ids, as this one lists them."""
    cluster_id: str | None = None
    features: quorum.Features | None = None
    configs: quorum.QuorumConfigs | None = None
    error: BrokerCallError | None = None
    """Why it did not answer last; None when it did."""
    node_id: int | None = None
    is_given_up: bool = False
    """Whether it stayed silent for the whole limit."""

    def look(self) -> Answer | None:
        """Return its view now, None when it gave none. All requests together take at most one request_timeout_ms."""
        if self.is_given_up:
            return None
        limit_s = self.wire.settings.request_timeout_ms / 1000
        deadline = self.clock.monotonic() + limit_s
        try:
            answer = self._view(deadline)
            if self.features is None or self.node_id is None:
                # One that has just started is not listed yet, not even by itself.
                self._introduce(deadline)
            self.error = None
        except BrokerCallError as error:
            self.error = error
            # A packet filter that drops makes an address unreachable, not hung, and costs as much.
            left_s = deadline - self.clock.monotonic()
            self.is_given_up = error.cause is Cause.HUNG or left_s < limit_s * _SPENT_BELOW
            return None
        except RequestRefusedError as refusal:
            self.error = BrokerCallError(str(self.address), Cause.NOT_AUTHORISED, str(refusal))
            return None
        return answer

    def named(self, answer: Answer) -> View:
        """Return the view with the controller's id, which may have become known later."""
        view = answer.view
        return view if view.node_id is not None else replace(view, node_id=self.node_id)

    def controller(self) -> Controller:
        """Return what is known of this controller."""
        return Controller(
            str(self.address),
            self.node_id,
            self.features.supports_pre_vote if self.features is not None else None,
            self.configs.fetch_timeout_ms if self.configs is not None else None,
            self.configs.election_timeout_ms if self.configs is not None else None,
            self.configs.auto_join if self.configs is not None else None,
            self.configs.election_backoff_ms if self.configs is not None else None,
            self.configs.retry_backoff_ms if self.configs is not None else None,
            cause=self.error.cause if self.error is not None else None,
            error=str(self.error) if self.error is not None else "",
        )

    def _view(self, deadline: float) -> Answer:
        state = quorum.quorum_state(self._call(quorum.describe_quorum_request(), deadline))
        known = quorum.known_leader(self._call(quorum.known_leader_request(), deadline))
        leader = known or (quorum.KnownLeader(state.leader_id, state.leader_epoch) if state is not None else None)
        view = View(
            str(self.address),
            # Only the leader answers with a state, and names itself in it, also where we may not ask who it is.
            self.node_id if state is None else state.leader_id,
            leader.leader_id if leader is not None else None,
            leader.epoch if leader is not None else None,
            claims_leadership=state is not None,
        )
        return Answer(state, view)

    def _introduce(self, deadline: float) -> None:
        listed = quorum.controllers(self._call(quorum.controllers_request(), deadline))
        self.cluster_id, self.peers = listed.cluster_id, listed.addresses
        self.configs = quorum.configs(self._call(quorum.configs_request(self.peers), deadline))
        if self.configs is not None:
            self.node_id = self.configs.node_id
        self.features = quorum.features(self._call(quorum.features_request(), deadline))

    def _call(self, request: Any, deadline: float) -> Any:
        return self.wire.call(self.address, request, timeout_ms=max(1, int((deadline - self.clock.monotonic()) * 1000)))
