# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Whose view of the metadata counts: a broker that lost its controllers serves its last one forever.

A view counts when DescribeQuorum lists the broker as caught up lately. Where DescribeQuorum brings no answer, it counts
when another broker is no further than it (the offset of its metadata, which ApiVersions returns since KIP-584).
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from .._model.partition import Cause
from .._model.quorum import QuorumState, SeenLeader
from .._model.run import Clock, KafkaOpsError
from . import error_codes, quorum
from .errors import BrokerCallError, NoBrokerAnswersError, RequestRefusedError
from .settings import Address, ConnectionSettings

with suppress(ImportError):  # a missing library is named before anything is done (_module/run.py)
    from kafka.protocol.admin import DescribeClusterRequest


_OLD_MS = 5000
"""A broker has caught up twice a second, as the controller writes a record that often even when nothing happens."""
_VALID_S = 5.0
_NO_QUORUM_VALID_S = 30.0
"""Without an answer the question costs a whole limit."""
_SET_ASIDE_S = 15.0
_LIMIT_MS = 2000
_SECOND_LOOK_S = 1.0
"""A new leader of the quorum lists a broker once that has fetched from it, and a busy one may need a moment."""
_MOST_OTHERS = 4

Key = TypeVar("Key")
Value = TypeVar("Value")


class Asker(Protocol):
    """What a check needs of the wire."""

    settings: ConnectionSettings

    def call(self, address: Address, request: Any, *, timeout_ms: int | None = None) -> Any: ...

    def call_any(
        self,
        make_request: Callable[[], Any],
        name: str,
        *,
        timeout_ms: int | None = None,
        avoid: Collection[Address] = (),
    ) -> tuple[Any, Address]: ...

    def in_parallel(self, work: Callable[[Key], Value], keys: Iterable[Key]) -> dict[Key, Value | BrokerCallError]: ...

    def known_addresses(self) -> Collection[Address]: ...

    def remember_addresses(self, brokers: Mapping[int, Address]) -> None: ...


@dataclass(frozen=True, slots=True)
class _SetAside:
    reason: str
    until: float


class Views:
    """What is known of the views of the brokers that one wire asks."""

    def __init__(self, clock: Clock = time) -> None:
        self.stale: dict[Address, str] = {}
        """Every broker that was found with an old view, and what was found."""
        self.unconfirmed = ""
        """Why it is not known whether the last answer was of a current view; empty where it was."""
        self.seen_leader: SeenLeader | None = None
        """The quorum's leader at the first DescribeQuorum; None where none was answered."""
        self._clock = clock
        self._valid_until: dict[Address, float] = {}
        self._set_aside: dict[Address, _SetAside] = {}
        self._broker_ids: dict[Address, int] = {}
        self._lock = threading.Lock()

    def remember_addresses(self, brokers: Mapping[int, Address]) -> None:
        """Remember which broker answers at which address."""
        self._broker_ids.update({address: broker_id for broker_id, address in brokers.items()})

    def ask(self, wire: Asker, make_request: Callable[[], Any], name: str) -> tuple[Any, Address]:
        """Send a request about the metadata until a broker whose view counts answers it.

        Where the others do not answer, those with an old view are looked at again for one request_timeout_ms: one that
        was paused catches up within moments.

        Raises NoBrokerAnswersError, with the reason of every broker that was set aside among the failures.
        """
        deadline = self._clock.monotonic() + wire.settings.request_timeout_ms / 1000
        while True:
            avoid = self._avoided()
            try:
                answer, asked = wire.call_any(make_request, name, avoid=avoid)
            except NoBrokerAnswersError as error:
                if avoid and self._clock.monotonic() < deadline:
                    self._clock.sleep(_SECOND_LOOK_S)
                    with self._lock:
                        self._set_aside.clear()
                    continue
                stale = [
                    BrokerCallError(str(address), Cause.ERROR, each.reason, request=name)
                    for address, each in avoid.items()
                ]
                raise NoBrokerAnswersError(name, [*error.failures, *stale]) from None
            if not self._is_stale(wire, asked):
                return answer, asked

    @staticmethod
    def _learn_others(wire: Asker, asked: Address) -> None:
        """Take the addresses of other brokers from a broker whose view is old: they hardly change."""
        with suppress(KafkaOpsError):
            answer = wire.call(asked, DescribeClusterRequest(include_fenced_brokers=True))
            wire.remember_addresses({each.broker_id: Address(each.host, each.port) for each in answer.brokers})

    def _avoided(self) -> dict[Address, _SetAside]:
        now = self._clock.monotonic()
        with self._lock:
            self._set_aside = {address: each for address, each in self._set_aside.items() if each.until > now}
            return dict(self._set_aside)

    def _is_stale(self, wire: Asker, asked: Address) -> bool:
        if self._valid_until.get(asked, 0.0) > self._clock.monotonic():
            return False
        if len(wire.known_addresses()) == 1 or asked not in self._broker_ids:
            # Whom else to ask. Who is in the cluster hardly changes, so an old view will do.
            self._learn_others(wire, asked)
        state, refuses, silence = self._quorum(wire)
        broker_id = self._broker_ids.get(asked)
        if broker_id is None and state is not None:
            broker_id = self._asked_for_id(wire, asked, state)
        valid_s = _VALID_S
        reason = ""
        if refuses == asked:
            # It is the controller that refuses, so the broker is in touch with it.
            self.unconfirmed = ""
        elif state is not None and broker_id is not None:
            reason = _age(state, broker_id)
            if reason:
                self._clock.sleep(_SECOND_LOOK_S)
                state = self._quorum(wire)[0] or state
                reason = _age(state, broker_id)
            self.unconfirmed = ""
        else:
            reason, self.unconfirmed = self._compared(wire, asked, silence)
            valid_s = _VALID_S if state is not None else _NO_QUORUM_VALID_S
        now = self._clock.monotonic()
        with self._lock:
            if reason:
                name = f"broker {broker_id} ({asked})" if broker_id is not None else f"the broker at {asked}"
                self.stale[asked] = (
                    f"{name} has lost touch with the controllers, so what it says does not count: {reason}"
                )
                self._set_aside[asked] = _SetAside(self.stale[asked], now + _SET_ASIDE_S)
            else:
                self._valid_until[asked] = now + valid_s
                self.stale.pop(asked, None)
        return bool(reason)

    def _quorum(self, wire: Asker) -> tuple[QuorumState | None, Address | None, str]:
        """Return the leader's answer; else through whom our principal was refused, and why there is no answer."""
        limit_ms = min(wire.settings.request_timeout_ms, _LIMIT_MS)
        avoid = set(self._avoided())
        while True:
            try:
                answer, asked = wire.call_any(
                    quorum.describe_quorum_request, "DescribeQuorum", timeout_ms=limit_ms, avoid=avoid
                )
            except KafkaOpsError as error:
                return None, None, str(error)
            try:
                state = quorum.quorum_state(answer)
            except RequestRefusedError as refusal:
                if refusal.code == error_codes.CLUSTER_AUTHORIZATION_FAILED:
                    return None, asked, str(refusal)
                # A broker that has no controller to forward to may say so.
                avoid.add(asked)
                continue
            if state is not None and self.seen_leader is None:
                now_ms = int(self._clock.monotonic() * 1000)
                self.seen_leader = SeenLeader(state.leader_id, state.leader_epoch, now_ms)
            return state, None, ""

    @staticmethod
    def _asked_for_id(wire: Asker, asked: Address, state: QuorumState) -> int | None:
        """Return which broker answers at an address that none of them lists; None where it may not be asked."""
        ids = [each.replica_id for each in (*state.voters, *state.observers)]
        try:
            own = quorum.configs(wire.call(asked, quorum.configs_request(ids)))
        except KafkaOpsError:
            return None
        return own.node_id if own is not None else None

    def _compared(self, wire: Asker, asked: Address, silence: str) -> tuple[str, str]:
        """Compare with other brokers. Return why the view is stale, and why nothing is known."""
        others = [each for each in wire.known_addresses() if each != asked][:_MOST_OTHERS]
        offsets = self._offsets(wire, [asked, *others])
        own = offsets.get(asked)
        found = [offset for address, offset in offsets.items() if address != asked]
        if own is None or not found:
            return (
                "",
                f"no other broker says how far its metadata is, and there is no answer to DescribeQuorum ({silence})",
            )
        if own < max(found):
            # It may be on its way to there.
            self._clock.sleep(_SECOND_LOOK_S)
            again = self._offsets(wire, [asked]).get(asked)
            if again is None or again < max(found):
                why = f"its metadata ends at offset {own}, and another broker's at {max(found)}"
                return f"{why}; there is no answer to DescribeQuorum ({silence})" if silence else why, ""
        return "", ""

    @staticmethod
    def _offsets(wire: Asker, addresses: Collection[Address]) -> dict[Address, int]:
        limit_ms = min(wire.settings.request_timeout_ms, _LIMIT_MS)
        answers = wire.in_parallel(
            lambda address: wire.call(address, quorum.features_request(), timeout_ms=limit_ms), addresses
        )
        return {
            address: answer.finalized_features_epoch
            for address, answer in answers.items()
            if not isinstance(answer, BrokerCallError) and answer.finalized_features_epoch >= 0
        }


def _age(state: QuorumState, broker_id: int) -> str:
    """Say how old the broker's metadata is, by the leader's clock; empty where it is current."""
    seen = [each for each in (*state.voters, *state.observers) if each.replica_id == broker_id]
    if any(each.replica_id == state.leader_id for each in seen):
        return ""
    ages = [each.lag_ms for each in seen if each.lag_ms is not None]
    if not ages:
        return "DescribeQuorum does not say when it was caught up, so it does not follow the controllers"
    return f"its metadata was current {min(ages)} ms ago" if min(ages) > _OLD_MS else ""
