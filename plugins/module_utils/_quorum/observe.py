# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Look at the quorum, through the brokers and through the controllers themselves. Writes nothing.

Brokers forward DescribeQuorum to the leader that they know, and wait when there is none. A controller says at once what
it takes for true, on its own listener, so that with their addresses a quorum is seen that brokers have lost.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any

from .._kafka import quorum
from .._kafka.cluster import Cluster, describe_cluster
from .._kafka.errors import BrokerCallError, NoBrokerAnswersError, RequestRefusedError
from .._kafka.settings import Address
from .._kafka.wire import Wire
from .._model.partition import Cause
from .._model.quorum import QuorumState, SeenLeader
from .._model.run import Clock
from .observation import Controller, Look, Observation, View

_BETWEEN_LOOKS_MS = 250
_MOST_AGE_MS = 60_000


def observe_quorum(
    wire: Wire,
    controllers: Sequence[Address] = (),
    *,
    window_ms: int = 0,
    earlier: SeenLeader | None = None,
    clock: Clock = time,
) -> Observation:
    """Observe the quorum now, and four times a second for ``window_ms`` from then on.

    Where an earlier task of this run has seen the leader, the window counts from then. Epochs only rise, so whatever
    changed since shows. What is older than a minute, or not of this host's clock, does not count.

    ``controllers`` are addresses of controllers' own listeners that can be reached from here; those that they list are
    asked too. All are asked at once. A silent one costs one request_timeout_ms, once.

    Raises NoBrokerAnswersError when neither a broker nor a controller answers, and RequestRefusedError when our
    principal may not describe the quorum.
    """
    return _Observer(wire, controllers, clock).observe(window_ms, earlier)


class _BrokerSide:
    """What the brokers answer; all of it is unknown where none answers."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire
        self.features: quorum.Features | None = None
        self.cluster: Cluster | None = None
        self.configs: quorum.QuorumConfigs | None = None
        self.silence: NoBrokerAnswersError | None = None
        """Why the last DescribeQuorum brought no answer."""

    def introduce(self) -> QuorumState | None:
        """Ask everything once."""
        try:
            answer, asked = self._wire.call_any(quorum.features_request, "ApiVersions")
            self.features = quorum.features(answer)
            self.cluster = describe_cluster(self._wire, any_view=True)
            ids = [each.broker_id for each in self.cluster.registrations]
            self.configs = quorum.configs(self._wire.call(asked, quorum.configs_request(ids)))
        except NoBrokerAnswersError as silence:
            self.silence = silence
            return None
        except BrokerCallError:
            pass  # Timeouts are good to know, not needed.
        return self.state()

    def state(self) -> QuorumState | None:
        """Return the leader's answer through a broker; None when no broker returns one."""
        try:
            answer, _asked = self._wire.call_any(quorum.describe_quorum_request, "DescribeQuorum")
        except NoBrokerAnswersError as silence:
            self.silence = silence
            return None
        self.silence = None
        return quorum.quorum_state(answer)

    @property
    def broker_ids(self) -> frozenset[int] | None:
        if self.cluster is None or self.features is None or not self.features.lists_fenced_brokers:
            return None
        return self.listed_broker_ids

    @property
    def listed_broker_ids(self) -> frozenset[int]:
        return frozenset(each.broker_id for each in self.cluster.registrations) if self.cluster else frozenset()


class _Observer:
    def __init__(self, wire: Wire, controllers: Sequence[Address], clock: Clock) -> None:
        self._wire = wire
        self._clock = clock
        self._brokers = _BrokerSide(wire)
        self._controllers = [
            ControllerWatch(wire.controller_side, address, clock) for address in dict.fromkeys(controllers)
        ]

    def observe(self, window_ms: int, earlier: SeenLeader | None) -> Observation:
        first = self._first_look()
        # Only now: the first look waits for silent controllers, and that must not use the window up.
        began = self._clock.monotonic()
        if earlier is not None:
            age_ms = int(began * 1000) - earlier.seen_at_ms
            if 0 <= age_ms <= _MOST_AGE_MS:
                began -= age_ms / 1000
                first = replace(first, at_ms=age_ms)
            else:
                earlier = None
        looks = [first]
        # Until its end, however long a look takes: the findings claim to cover the whole window.
        while looks[-1].at_ms < window_ms:
            left_ms = window_ms - self._since_ms(began)
            self._clock.sleep(max(0, min(left_ms, _BETWEEN_LOOKS_MS)) / 1000)
            looks.append(self._look(self._since_ms(began)))
        return replace(self._observation(looks), earlier=earlier)

    def _since_ms(self, began: float) -> int:
        return int((self._clock.monotonic() - began) * 1000)

    def _first_look(self) -> Look:
        with ThreadPoolExecutor(max_workers=1) as executor:
            through_brokers = executor.submit(self._brokers.introduce)
            answers = self._ask(self._controllers)
            discovered = self._discover()
            self._controllers += discovered
            answers += self._ask(discovered)
            state = through_brokers.result()
            if state is None and not self._controllers:
                # A broker forwards to the leader that it knows, and waits for it up to controller.socket.timeout.ms
                # (30 s) where that one is frozen, although the others may have elected another one long ago.
                answers += self._ask_configured()
            return _joined(0, state, answers)

    def _ask_configured(self) -> list[tuple[ControllerWatch, Answer]]:
        """Ask the controllers that a broker's own configs name. Those that cannot be reached from here do not count."""
        known = self._brokers.configs.controllers if self._brokers.configs is not None else ()
        watches = [
            ControllerWatch(self._wire.controller_side, address, self._clock) for address in dict.fromkeys(known)
        ]
        answers = self._ask(watches)
        self._controllers += [watch for watch, _answer in answers]
        discovered = self._discover()
        more = self._ask(discovered)
        self._controllers += [watch for watch, _answer in more]
        return [*answers, *more]

    def _look(self, at_ms: int) -> Look:
        answers = self._ask(self._controllers)
        is_led = any(answer.state is not None for _watch, answer in answers)
        return _joined(at_ms, None if is_led else self._brokers.state(), answers)

    def _ask(self, watches: Sequence[ControllerWatch]) -> list[tuple[ControllerWatch, Answer]]:
        """Ask all at once and return the answers."""
        answers = self._wire.in_parallel(lambda number: watches[number].look(), range(len(watches)))
        return [(watches[number], answer) for number, answer in answers.items() if isinstance(answer, Answer)]

    def _discover(self) -> list[ControllerWatch]:
        """Add the controllers that the answers list and that were not asked yet."""
        listed = {node_id: address for watch in self._controllers for node_id, address in watch.peers.items()}
        addresses = {address: node_id for node_id, address in listed.items()}
        for watch in self._controllers:
            if watch.node_id is None:  # a silent one that the others know
                watch.node_id = addresses.get(watch.address)
        met = {watch.node_id for watch in self._controllers}
        return [
            ControllerWatch(self._wire.controller_side, address, self._clock, node_id=node_id)
            for node_id, address in listed.items()
            if node_id not in met
        ]

    def _observation(self, looks: Sequence[Look]) -> Observation:
        answered = [*(watch.features for watch in self._controllers), self._brokers.features]
        features = [each for each in answered if each is not None]
        if not features:
            raise NoBrokerAnswersError(
                "DescribeQuorum",
                [
                    *(self._brokers.silence.failures if self._brokers.silence is not None else ()),
                    *(watch.error for watch in self._controllers if watch.error is not None),
                ],
            )
        controllers = [each.configs for each in self._controllers if each.configs is not None]
        configs = controllers or ([self._brokers.configs] if self._brokers.configs is not None else [])
        cluster_ids = [watch.cluster_id for watch in self._controllers]
        if self._brokers.cluster is not None:
            cluster_ids.append(self._brokers.cluster.cluster_id)
        return Observation(
            cluster_id=next((each for each in cluster_ids if each is not None), None),
            looks=tuple(looks),
            controllers=tuple(each.controller() for each in sorted(self._controllers, key=_by_id)),
            broker_ids=self._brokers.broker_ids,
            listed_broker_ids=self._brokers.listed_broker_ids,
            kraft_version=_highest(each.kraft_version for each in features),
            metadata_version=_highest(each.metadata_version for each in features),
            fetch_timeout_ms=_fetch_timeout_ms(configs, looks[-1].state),
            election_timeout_ms=_highest(each.election_timeout_ms for each in configs),
            silence=self._silence(looks[-1]),
        )

    def _silence(self, look: Look) -> str:
        if look.state is not None:
            return ""
        reasons = [f"controller {view.node_id or view.address} says it does not lead" for view in look.views]
        reasons += [str(watch.error) for watch in self._controllers if watch.error is not None]
        if self._brokers.silence is not None:
            reasons.append(str(self._brokers.silence))
        return "; ".join(reasons)


def _joined(at_ms: int, through_brokers: QuorumState | None, answers: Iterable[tuple[ControllerWatch, Answer]]) -> Look:
    """Join one look. Of several leaders' states, use the one of the newest epoch."""
    answered = list(answers)
    states = [state for state in (through_brokers, *(answer.state for _watch, answer in answered)) if state is not None]
    return Look(
        at_ms,
        max(states, key=lambda state: state.leader_epoch, default=None),
        tuple(watch.named(answer) for watch, answer in answered),
    )


def _by_id(watch: ControllerWatch) -> tuple[bool, int, Address]:
    return watch.node_id is None, watch.node_id or 0, watch.address


def _fetch_timeout_ms(configs: Iterable[quorum.QuorumConfigs], state: QuorumState | None) -> int | None:
    """Return the leader's own timeout, else the smallest. A larger one would count a dead voter as caught up."""
    known = {each.node_id: each.fetch_timeout_ms for each in configs if each.fetch_timeout_ms is not None}
    own = known.get(state.leader_id) if state is not None else None
    return own if own is not None else min(known.values(), default=None)


def _highest(values: Iterable[int | None]) -> int | None:
    return max((value for value in values if value is not None), default=None)


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
