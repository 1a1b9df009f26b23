# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Observe the quorum, through the brokers and through the controllers' own listeners. Writes nothing.

Brokers forward DescribeQuorum to the leader that they know, and wait if there is none. A controller answers at once on
its own listener. So if controllers' addresses are given, the quorum can be observed even if no broker reaches it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from .._kafka import quorum
from .._kafka.cluster import Cluster, describe_cluster
from .._kafka.controllers import REACH_MS, ControllerSide, reach_controllers
from .._kafka.errors import BrokerCallError, NoBrokerAnswersError
from .._kafka.settings import Address
from .._kafka.wire import Wire
from .._model.quorum import QuorumState, SeenLeader
from .._model.run import Clock
from .controller_watch import ControllerAnswer, ControllerWatch
from .observation import Look, Observation

_BETWEEN_LOOKS_MS = 250
_MOST_AGE_MS = 60_000


def observe_quorum(
    wire: Wire,
    *,
    window_ms: int = 0,
    finds_controllers: bool = False,
    earlier: SeenLeader | None = None,
    is_enough: Callable[[Observation], bool] = lambda _observation: False,
    clock: Clock = time,
) -> Observation:
    """Observe the quorum now, and then four times per second for ``window_ms``, or until it ``is_enough``.

    If an earlier task of this run saw the leader (``earlier``), the window starts at that time. Epochs only rise, so
    any change since then is visible. ``earlier`` is ignored if it is older than a minute or not from this host's clock.

    The controllers that the operator named are asked on their own listeners, and those that they list. All are asked in
    parallel. A silent controller costs one request_timeout_ms in total. If the operator named none, those that brokers
    name are asked while no broker reaches the leader, and always if ``finds_controllers``.

    Raises NoBrokerAnswersError (neither a broker nor a controller answers) or RequestRefusedError (our principal may
    not describe the quorum).
    """
    return _Observer(wire, clock, finds_controllers=finds_controllers).observe(window_ms, earlier, is_enough)


class _BrokerSide:
    """The answers of the brokers. All are unknown if no broker answers."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire
        self.features: quorum.Features | None = None
        self.cluster: Cluster | None = None
        self.configs: quorum.QuorumConfigs | None = None
        self.silence: NoBrokerAnswersError | None = None
        """Why no broker answered the last DescribeQuorum; None if one did."""

    def ask_everything(self) -> QuorumState | None:
        """Ask for features, cluster, configs and the quorum's state. Returns the state, or None."""
        try:
            answer, asked = self._wire.call_any(quorum.features_request, "ApiVersions")
            self.features = quorum.features(answer)
            self.cluster = describe_cluster(self._wire, any_view=True)
            ids = [each.broker_id for each in self.cluster.registrations]
            self.configs = quorum.configs(self._wire.call(asked, quorum.configs_request(ids)))
        except NoBrokerAnswersError as error:
            self.silence = error
            return None
        except BrokerCallError:
            pass  # The configs are useful, but not needed.
        return self.state()

    def state(self) -> QuorumState | None:
        """Ask the leader through a broker. Returns None if no broker returns an answer.

        Raises NoBrokerAnswersError of brokers that have no quorum: then nothing is to be said of one.
        """
        try:
            answer, _asked = self._wire.call_any(quorum.describe_quorum_request, "DescribeQuorum")
        except NoBrokerAnswersError as error:
            if error.is_other_kafka:
                raise
            self.silence = error
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
    def __init__(self, wire: Wire, clock: Clock, *, finds_controllers: bool) -> None:
        self._wire = wire
        self._clock = clock
        self._finds_controllers = finds_controllers
        self._brokers = _BrokerSide(wire)
        self._controllers = [
            ControllerWatch(wire.controller_side, address, clock)
            for address in dict.fromkeys(wire.controllers.addresses)
        ]

    def observe(
        self, window_ms: int, earlier: SeenLeader | None, is_enough: Callable[[Observation], bool]
    ) -> Observation:
        first = self._first_look()
        # The window starts after the first look, because that waits for silent controllers.
        began = self._clock.monotonic()
        if earlier is not None:
            age_ms = int(began * 1000) - earlier.seen_at_ms
            if 0 <= age_ms <= _MOST_AGE_MS:
                began -= age_ms / 1000
                first = replace(first, at_ms=age_ms)
            else:
                earlier = None
        looks = [first]
        # Look until the end of the window, even if looks take long: the findings must cover the whole window.
        while looks[-1].at_ms < window_ms:
            # A controller that is starting may be the first to answer, and only later in the window.
            if self._features() and is_enough(self._observation(looks, earlier)):
                break
            left_ms = window_ms - self._since_ms(began)
            self._clock.sleep(max(0, min(left_ms, _BETWEEN_LOOKS_MS)) / 1000)
            looks.append(self._look(self._since_ms(began)))
        return self._observation(looks, earlier)

    def _features(self) -> list[quorum.Features]:
        """Return the features of all who have answered."""
        answered = [*(watch.features for watch in self._controllers), self._brokers.features]
        return [each for each in answered if each is not None]

    def _since_ms(self, began: float) -> int:
        return int((self._clock.monotonic() - began) * 1000)

    def _first_look(self) -> Look:
        with ThreadPoolExecutor(max_workers=1) as executor:
            through_brokers = executor.submit(self._brokers.ask_everything)
            answers = self._ask(self._controllers)
            discovered = self._discover()
            self._controllers += discovered
            answers += self._ask(discovered)
            state = through_brokers.result()
            # A broker forwards to the leader that it knows. If that leader is frozen, it waits for up to
            # controller.socket.timeout.ms (30 s), although the others may have elected another leader.
            cluster = self._brokers.cluster
            if cluster is not None and not self._controllers and (state is None or self._finds_controllers):
                side = reach_controllers(self._wire, self._brokers.configs, cluster.cluster_id)
                answers += self._ask_found(side, is_led=state is not None)
            for watch in self._controllers:
                watch.candidates = self._static_voters()
            return _join_answers(0, state, answers)

    def _ask_found(self, side: ControllerSide, *, is_led: bool) -> list[tuple[ControllerWatch, ControllerAnswer]]:
        """Ask the controllers that brokers name, and those that these list.

        If there is a leader, those that cannot be reached from here do not matter. Without a leader they do: they may
        be the ones to start.
        """
        limit_ms = REACH_MS if is_led else None
        reached = [ControllerWatch(side.wire, each, self._clock, limit_ms=limit_ms) for each in side.addresses]
        answers = self._ask(reached)
        silent = [ControllerWatch(side.wire, each, self._clock, error=error) for each, error in side.silent.items()]
        self._controllers += [*reached, *silent]
        discovered = self._discover(limit_ms)
        self._controllers += discovered
        answers += self._ask(discovered)
        if is_led or any(answer.state is not None for _watch, answer in answers):
            self._controllers = [each for each in self._controllers if each.error is None]
        return answers

    def _look(self, at_ms: int) -> Look:
        answers = self._ask(self._controllers)
        is_led = any(answer.state is not None for _watch, answer in answers)
        return _join_answers(at_ms, None if is_led else self._brokers.state(), answers)

    def _ask(self, watches: Sequence[ControllerWatch]) -> list[tuple[ControllerWatch, ControllerAnswer]]:
        """Ask the controllers in parallel and return the answers."""
        answers = self._wire.in_parallel(lambda number: watches[number].look(), range(len(watches)))
        return [(watches[number], answer) for number, answer in answers.items() if isinstance(answer, ControllerAnswer)]

    def _discover(self, limit_ms: int | None = None) -> list[ControllerWatch]:
        """Return the controllers that others list and that were not asked yet."""
        listed = {node_id: address for watch in self._controllers for node_id, address in watch.peers.items()}
        addresses = {address: node_id for node_id, address in listed.items()}
        for watch in self._controllers:
            if watch.node_id is None:  # a silent controller whose id the others know
                watch.node_id = addresses.get(watch.address)
        met = {watch.node_id for watch in self._controllers}
        return [
            ControllerWatch(self._wire.controller_side, address, self._clock, node_id=node_id, limit_ms=limit_ms)
            for node_id, address in listed.items()
            if node_id not in met
        ]

    def _observation(self, looks: Sequence[Look], earlier: SeenLeader | None) -> Observation:
        features = self._features()
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
            earlier=earlier,
            controllers=tuple(each.controller() for each in sorted(self._controllers, key=_by_id)),
            broker_ids=self._brokers.broker_ids,
            listed_broker_ids=self._brokers.listed_broker_ids,
            kraft_version=_highest(each.kraft_version for each in features),
            metadata_version=_highest(each.metadata_version for each in features),
            fetch_timeout_ms=_fetch_timeout_ms(configs, looks[-1].state),
            election_timeout_ms=_highest(each.election_timeout_ms for each in configs),
            voter_count=self._count_voters(looks),
            silence=self._describe_silence(looks[-1]),
        )

    def _static_voters(self) -> frozenset[int]:
        """Return the voters that the configs of a static quorum name. Empty if they are in the log, or unknown."""
        if _highest(each.kraft_version for each in self._features()):
            return frozenset()
        known = (*(watch.configs for watch in self._controllers), self._brokers.configs)
        return frozenset(voter for each in known if each is not None for voter in each.voters)

    def _count_voters(self, looks: Sequence[Look]) -> int | None:
        """Return how many voters there are, as far as it is known without a leader.

        The addresses at which controllers were asked do not say it: they may be some of several.
        """
        if any(watch.peers for watch in self._controllers):
            return len({watch.controller().id_or_address for watch in self._controllers})
        states = [each.state for each in looks if each.state is not None]
        return (len(states[-1].voters) if states else 0) or len(self._static_voters()) or None

    def _describe_silence(self, look: Look) -> str:
        if look.state is not None:
            return ""
        reasons = [f"controller {view.id_or_address} says it does not lead" for view in look.views]
        reasons += [
            f"controller {watch.address} does not list the others: {watch.unlisted}"
            for watch in self._controllers
            if watch.unlisted and watch.error is None
        ]
        reasons += [str(watch.error) for watch in self._controllers if watch.error is not None]
        if self._brokers.silence is not None:
            reasons.append(str(self._brokers.silence))
        return "; ".join(reasons)


def _join_answers(
    at_ms: int, through_brokers: QuorumState | None, answers: Iterable[tuple[ControllerWatch, ControllerAnswer]]
) -> Look:
    """Build a look from all answers. If several leaders answered, use the state with the highest epoch."""
    answered = list(answers)
    states = [state for state in (through_brokers, *(answer.state for _watch, answer in answered)) if state is not None]
    return Look(
        at_ms,
        max(states, key=lambda state: state.leader_epoch, default=None),
        tuple(watch.with_node_id(answer) for watch, answer in answered),
    )


def _by_id(watch: ControllerWatch) -> tuple[bool, int, Address]:
    return watch.node_id is None, watch.node_id or 0, watch.address


def _fetch_timeout_ms(configs: Iterable[quorum.QuorumConfigs], state: QuorumState | None) -> int | None:
    """Return the leader's own timeout, or else the smallest: a larger one could count a dead voter as caught up."""
    known = {each.node_id: each.fetch_timeout_ms for each in configs if each.fetch_timeout_ms is not None}
    own = known.get(state.leader_id) if state is not None else None
    return own if own is not None else min(known.values(), default=None)


def _highest(values: Iterable[int | None]) -> int | None:
    return max((value for value in values if value is not None), default=None)
