# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Ask one controller on its own listener, again and again while the quorum is observed."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from typing import Any

from .._kafka import quorum
from .._kafka.errors import BrokerCallError, RequestRefusedError
from .._kafka.settings import Address
from .._kafka.wire import Wire
from .._model.partition import Cause
from .._model.quorum import QuorumState
from .._model.run import Clock
from .observation import Controller, ControllerView

_SPENT_BELOW = 0.1
"""If less than this part of the time limit is left, the limit counts as used up: timers end a little early."""


@dataclass(frozen=True, slots=True)
class ControllerAnswer:
    """One controller's answer at one look. ``state`` is None unless it is the leader."""

    state: QuorumState | None
    view: ControllerView


@dataclass(slots=True)
class ControllerWatch:
    """One controller during the window. After it was silent for a whole time limit, it is not asked again."""

    wire: Wire
    address: Address
    clock: Clock = time
    peers: dict[int, Address] = field(default_factory=dict)
    """The addresses of all controllers that this controller lists, by id."""
    cluster_id: str | None = None
    features: quorum.Features | None = None
    configs: quorum.QuorumConfigs | None = None
    error: BrokerCallError | None = None
    """Why the controller did not answer the last request; None if it did."""
    node_id: int | None = None
    limit_ms: int | None = None
    """How long an answer may take. None for request_timeout_ms."""
    is_no_longer_asked: bool = False
    candidates: frozenset[int] = frozenset()
    """Ids that it may have, from the configs of others."""
    unlisted: str = ""
    """Why it does not list the other controllers. Empty if it does."""

    def look(self) -> ControllerAnswer | None:
        """Ask for the controller's view; None if it does not answer. Takes at most ``limit_ms`` in total."""
        if self.is_no_longer_asked:
            return None
        limit_s = (self.limit_ms or self.wire.settings.request_timeout_ms) / 1000
        deadline = self.clock.monotonic() + limit_s
        try:
            answer = self._view(deadline)
            if self.features is None or self.node_id is None:
                # Asked again if the id is unknown: a controller that has just started does not list itself yet.
                self._ask_identity(deadline)
            self.error = None
        except BrokerCallError as error:
            self.error = error
            # A packet filter that drops packets makes an address unreachable, not hung, but takes as much time.
            left_s = deadline - self.clock.monotonic()
            self.is_no_longer_asked = error.cause is Cause.HUNG or left_s < limit_s * _SPENT_BELOW
            return None
        except RequestRefusedError as error:
            self.error = BrokerCallError(str(self.address), Cause.NOT_AUTHORIZED, str(error))
            return None
        return answer

    def with_node_id(self, answer: ControllerAnswer) -> ControllerView:
        """Add the controller's id to the view. The id may have become known after the view."""
        view = answer.view
        return view if view.node_id is not None else replace(view, node_id=self.node_id)

    def controller(self) -> Controller:
        """Return all facts about this controller."""
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
            unlisted=self.unlisted,
        )

    def _view(self, deadline: float) -> ControllerAnswer:
        state = quorum.quorum_state(self._call(quorum.describe_quorum_request(), deadline))
        known = quorum.known_leader(self._call(quorum.known_leader_request(), deadline))
        leader = known or (quorum.KnownLeader(state.leader_id, state.leader_epoch) if state is not None else None)
        view = ControllerView(
            str(self.address),
            # Only the leader answers with a state, and the state has its id. So this works without permission to ask.
            self.node_id if state is None else state.leader_id,
            leader.leader_id if leader is not None else None,
            leader.epoch if leader is not None else None,
            claims_leadership=state is not None,
        )
        return ControllerAnswer(state, view)

    def _ask_identity(self, deadline: float) -> None:
        """Ask who it is and which others there are. It may refuse to list them: its view counts all the same."""
        try:
            listed = quorum.controllers(self._call(quorum.controllers_request(), deadline))
            self.cluster_id, self.peers, self.unlisted = listed.cluster_id, listed.addresses, ""
        except RequestRefusedError as error:
            self.unlisted = str(error)
        candidates = {*self.peers, *self.candidates, *(() if self.node_id is None else (self.node_id,))}
        if candidates:
            self.configs = quorum.configs(self._call(quorum.configs_request(candidates), deadline))
        if self.configs is not None:
            self.node_id = self.configs.node_id
        self.features = quorum.features(self._call(quorum.features_request(), deadline))

    def _call(self, request: Any, deadline: float) -> Any:
        return self.wire.call(self.address, request, timeout_ms=max(1, int((deadline - self.clock.monotonic()) * 1000)))
