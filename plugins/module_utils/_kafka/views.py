# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Check that a broker's metadata is current. A broker that lost its controllers serves its last metadata forever.

Metadata is current if DescribeQuorum lists the broker as caught up within OLD_MS, and if the broker has applied all
that the controllers had committed by then: the offset up to which it did is in ApiVersions (KIP-584). A loaded broker
may fetch metadata in time and apply it late. If DescribeQuorum is not answered, its metadata counts as current if no
other broker's ends at a higher offset.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from typing import Any

from .._model.partition import Cause
from .._model.quorum import QuorumState, SeenLeader
from .._model.run import Clock, KafkaOpsError
from . import error_codes, quorum
from .applied_metadata import LIMIT_MS, PATIENCE_S, Asker, find_backlogs, read_applied_offsets
from .errors import BrokerCallError, NoBrokerAnswersError, RequestRefusedError
from .exclusions import Exclusions
from .settings import Address

with suppress(ImportError):  # a missing library is reported before the module starts (_module/run.py)
    from kafka.protocol.admin import DescribeClusterRequest


OLD_MS = 5000
"""The controller writes a record every 500 ms even if nothing happens, so a healthy broker catches up that often."""
_VALID_S = 5.0
"""How long a broker's metadata counts as current after a check."""
_UNCONFIRMED_VALID_S = 30.0
"""The same if it could not be confirmed: then each check waits for a whole limit."""
_RECHECK_AFTER_S = 1.0
"""A new leader of the quorum lists a broker only after that broker's first Fetch."""
_CHECKED_WITHIN_S = 0.1
"""An answer is asked for again if the check of its broker took longer."""
_MAX_COMPARED = 4
"""Other brokers to compare with if DescribeQuorum is not answered."""


class Views:
    """Which of the brokers that one wire asks have current metadata."""

    def __init__(self, clock: Clock = time) -> None:
        self.unconfirmed = ""
        """Why it is unknown whether the metadata that was read last is current. Empty if it is current."""
        self.leaderless = ""
        """Why it is unknown whether a controller leads, by the last check. Empty if one does."""
        self.seen_leader: SeenLeader | None = None
        """The quorum's leader by the first answer to DescribeQuorum. None without an answer."""
        self._clock = clock
        self._exclusions = Exclusions(clock)
        self._broker_ids: dict[Address, int] = {}

    @property
    def stale(self) -> Mapping[Address, str]:
        """The brokers whose metadata was old, and a text about each for the operator."""
        return self._exclusions.stale

    def remember_addresses(self, brokers: Mapping[int, Address]) -> None:
        """Remember which broker answers at which address."""
        self._broker_ids.update({address: broker_id for broker_id, address in brokers.items()})

    def ask(self, wire: Asker, make_request: Callable[[], Any], name: str) -> tuple[Any, Address]:
        """Send a request about the metadata until a broker with current metadata answers it. Return answer and address.

        If no other broker answers, the brokers with old metadata are checked again, for one request_timeout_ms: a
        broker that was paused catches up soon. After that, the answer of one that only applies it late is returned, and
        is ``unconfirmed``.

        Raises NoBrokerAnswersError. Its failures include the reason of every excluded broker.
        """
        deadline = self._clock.monotonic() + wire.settings.request_timeout_ms / 1000
        while True:
            avoid = self._exclusions.now()
            try:
                answer, source = wire.call_any(make_request, name, avoid=avoid)
            except NoBrokerAnswersError as error:
                if avoid and self._clock.monotonic() < deadline:
                    self._clock.sleep(_RECHECK_AFTER_S)
                    self._exclusions.end()
                    continue
                late = {address: each.reason for address, each in avoid.items() if each.is_late}
                if not late:
                    stale = [
                        BrokerCallError(str(address), Cause.ERROR, each.reason, request=name)
                        for address, each in avoid.items()
                    ]
                    raise NoBrokerAnswersError(name, [*error.failures, *stale]) from None
                answer, source = wire.call_any(make_request, name, avoid=avoid.keys() - late)
                if source in late:
                    self._accept(source, late[source])
            answered_at = self._clock.monotonic()
            if self._is_stale(wire, source):
                continue
            if self._clock.monotonic() - answered_at <= _CHECKED_WITHIN_S:
                return answer, source
            # The broker may have caught up during the check.
            with suppress(BrokerCallError):
                return wire.call(source, make_request()), source

    @staticmethod
    def _find_other_brokers(wire: Asker, source: Address) -> None:
        """Ask a broker for the addresses of the others. Its metadata may be old, but addresses rarely change."""
        with suppress(KafkaOpsError):
            answer = wire.call(source, DescribeClusterRequest(include_fenced_brokers=True))
            wire.remember_addresses({each.broker_id: Address(each.host, each.port) for each in answer.brokers})

    def _is_stale(self, wire: Asker, source: Address) -> bool:
        if self._exclusions.is_current(source):
            return False
        if len(wire.known_addresses()) == 1 or source not in self._broker_ids:
            self._find_other_brokers(wire, source)
        state, refused_by, error = self._describe_quorum(wire)
        self.leaderless = error if state is None and refused_by is None else ""
        broker_id = self._broker_ids.get(source)
        if broker_id is None and state is not None:
            broker_id = self._find_broker_id(wire, source, state)
        valid_s, late = _VALID_S, ""
        if refused_by == source:
            # The controller refused our principal, so the broker that forwarded the request is in touch with it.
            reason, self.unconfirmed = "", ""
        elif state is not None and broker_id is not None:
            reason, self.unconfirmed = self._check_age(wire, state, broker_id), ""
            if not reason:
                backlogs = find_backlogs(wire, self._clock, [source], state.high_watermark, _RECHECK_AFTER_S)
                late = backlogs.get(source, "")
        else:
            reason, self.unconfirmed = self._compare_offsets(wire, source, error)
            valid_s = _VALID_S if state is not None else _UNCONFIRMED_VALID_S
        name = f"broker {broker_id} ({source})" if broker_id is not None else f"the broker at {source}"
        if reason:
            lost = f"{name} has lost touch with the controllers, so its metadata is not used: {reason}"
            self._exclusions.exclude(source, lost, is_late=False)
        elif late:
            self._exclusions.exclude(source, f"{name} applies metadata late: {late}", is_late=True)
        else:
            self._exclusions.count_as_current(source, valid_s)
            self._exclusions.forget(source)
        return bool(reason or late)

    def _accept(self, source: Address, reason: str) -> None:
        """Let answers of a broker count although its metadata is late, and do not check it again for a while."""
        self._exclusions.count_as_current(source, _UNCONFIRMED_VALID_S)
        self.unconfirmed = reason

    def _check_age(self, wire: Asker, state: QuorumState, broker_id: int) -> str:
        """Return why the broker's metadata is old. Empty if it is current, now or after a second look."""
        if not _explain_age(state, broker_id):
            return ""
        self._clock.sleep(_RECHECK_AFTER_S)
        return _explain_age(self._describe_quorum(wire)[0] or state, broker_id)

    def find_late(
        self, wire: Asker, addresses: Collection[Address], patience_s: float = PATIENCE_S
    ) -> dict[Address, str]:
        """Return the brokers that apply metadata late, and what they lack, as ``find_backlogs`` does.

        All are left out if DescribeQuorum is not answered.
        """
        state = self._describe_quorum(wire)[0] if addresses else None
        return (
            find_backlogs(wire, self._clock, addresses, state.high_watermark, patience_s) if state is not None else {}
        )

    def _describe_quorum(self, wire: Asker) -> tuple[QuorumState | None, Address | None, str]:
        """Return the leader's answer. Without one, return the broker that passed a refusal on, and the error."""
        limit_ms = min(wire.settings.request_timeout_ms, LIMIT_MS)
        avoid = set(self._exclusions.now())
        while True:
            try:
                answer, source = wire.call_any(
                    quorum.describe_quorum_request, "DescribeQuorum", timeout_ms=limit_ms, avoid=avoid
                )
            except KafkaOpsError as error:
                return None, None, str(error)
            try:
                state = quorum.quorum_state(answer)
            except RequestRefusedError as error:
                if error.code == error_codes.CLUSTER_AUTHORIZATION_FAILED:
                    return None, source, str(error)
                # A broker without a controller to forward to may answer with an error: ask another broker.
                avoid.add(source)
                continue
            if state is not None and self.seen_leader is None:
                now_ms = int(self._clock.monotonic() * 1000)
                self.seen_leader = SeenLeader(state.leader_id, state.leader_epoch, now_ms)
            return state, None, ""

    @staticmethod
    def _find_broker_id(wire: Asker, source: Address, state: QuorumState) -> int | None:
        """Return the id of the broker at an address that no broker advertises. None if it does not return its id."""
        ids = [each.replica_id for each in (*state.voters, *state.observers)]
        try:
            own = quorum.configs(wire.call(source, quorum.configs_request(ids)))
        except KafkaOpsError:
            return None
        return own.node_id if own is not None else None

    def _compare_offsets(self, wire: Asker, source: Address, error: str) -> tuple[str, str]:
        """Compare a broker's metadata with other brokers'. Return why it is old, or why that is unknown."""
        others = [each for each in wire.known_addresses() if each != source][:_MAX_COMPARED]
        offsets = read_applied_offsets(wire, [source, *others])
        own = offsets.get(source)
        found = [offset for address, offset in offsets.items() if address != source]
        if own is None or not found:
            return "", f"no other broker returned the offset of its metadata, and DescribeQuorum failed ({error})"
        if own < max(found):
            # The broker may just be catching up.
            self._clock.sleep(_RECHECK_AFTER_S)
            again = read_applied_offsets(wire, [source]).get(source)
            if again is None or again < max(found):
                why = f"its metadata ends at offset {own}, and another broker's at {max(found)}"
                return f"{why}; DescribeQuorum failed ({error})" if error else why, ""
        return "", ""


def _explain_age(state: QuorumState, broker_id: int) -> str:
    """Return a text about the age of the broker's metadata, by the leader's clock. Empty if it is current."""
    seen = [each for each in (*state.voters, *state.observers) if each.replica_id == broker_id]
    if any(each.replica_id == state.leader_id for each in seen):
        return ""
    ages = [each.lag_ms for each in seen if each.lag_ms is not None]
    if not ages:
        return "DescribeQuorum does not list when it last caught up, so it does not follow the controllers"
    return f"its metadata was current {min(ages)} ms ago" if min(ages) > OLD_MS else ""
