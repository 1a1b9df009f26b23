# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Wait for missing brokers before replicas are compared. Only reads.

A run connects every second to each broker whose answer may decide an election, and that is registered. (Kafka 3.9 does
not list fenced brokers.) A hung broker does not delay the others. The doc fragment ``waiting`` describes the options.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from .._kafka.cluster import Registration
from .._kafka.port import Kafka
from .._model.fields import INT32_MAX
from .._model.partition import Broker, BrokerState
from .._model.reasons import plural
from .._model.run import KafkaOpsError, Progress
from .._module.connection import Arguments
from .policies import PolicyError
from .start_order import AwaitedBroker, AwaitedBrokers, find_awaited, name_with_states
from .strategy import Policy
from .survey import Survey, survey_again

_PAUSE_S = 1.0
_MOST_THREADS = 64
_SETTLE_S = 5.0
"""How long a broker's view of the metadata may lag behind an election that the controller makes by itself."""

WAITING = Arguments(
    argument_spec={
        "recovery_wait_ms": {"type": "int", "default": 0},
        "lost_brokers": {"type": "list", "elements": "int", "default": []},
    }
)


@dataclass(frozen=True, slots=True)
class WaitLimits:
    """How long a run waits for brokers."""

    answer_ms: int
    """Limit for any broker whose answer may decide an election."""
    needed_ms: int
    """Limit for a broker without which the strategy does not recover (KIP-966's unclean.recovery.timeout.ms)."""
    waits: bool
    """False for a run that elects nothing: it only reports which brokers another run would wait for."""
    lost: frozenset[int] = frozenset()
    """Ids of brokers that the operator named as lost for good."""


def read_wait_limits(params: Mapping[str, Any], *, waits: bool) -> WaitLimits:
    """Read how long a run waits for brokers. Opens no connection.

    Raises PolicyError.
    """
    wait_ms, lost = params["recovery_wait_ms"], params["lost_brokers"]
    if wait_ms < 0:
        raise PolicyError(f"recovery_wait_ms must be 0 or greater, got {wait_ms}")
    unknown = [each for each in lost if not 0 <= each <= INT32_MAX]
    if unknown:
        raise PolicyError(f"lost_brokers has {unknown[0]}, which is no broker id: give ids from 0")
    if params.get("evidence") is not None and (lost or wait_ms):
        raise PolicyError(
            "recovery_wait_ms and lost_brokers are about brokers that are asked, and evidence was gathered earlier: "
            "leave them out, or leave out evidence"
        )
    return WaitLimits(params["recovery_duration_ms"], wait_ms, waits, frozenset(lost))


@dataclass(frozen=True, slots=True)
class Awaited(AwaitedBroker):
    """A broker that a run waited for, or would wait for, with its last known state."""

    limit_ms: int
    """How long a run waits for it."""
    waited_ms: int | None
    """How long this run waited for it; None if this run does not wait."""
    has_returned: bool


@dataclass(frozen=True, slots=True)
class Waited:
    """The cluster after the wait, and the brokers that were awaited, in the order in which to start them."""

    survey: Survey
    awaited: tuple[Awaited, ...]


def wait_for_brokers(
    kafka: Kafka, found: Survey, policies: Mapping[str, Policy], limits: WaitLimits, progress: Progress
) -> Waited:
    """Wait until every broker that may decide an election answers and is unfenced, or its time limit has passed.

    Raises NoBrokerAnswersError, RequestRefusedError or BrokerCallError if the cluster cannot be surveyed again after a
    broker has returned.
    """
    first = find_awaited(found.offline, policies, found.brokers, found.lost)
    wait = _Wait(kafka, found, policies, limits, progress, first)
    if limits.waits and first.brokers:
        with ThreadPoolExecutor(max_workers=_MOST_THREADS, thread_name_prefix="awaited") as executor:
            wait.until_all_have_returned(executor)
    return Waited(wait.found, tuple(wait.list_awaited()))


@dataclass
class _Wait:
    kafka: Kafka
    found: Survey
    policies: Mapping[str, Policy]
    limits: WaitLimits
    progress: Progress
    awaited_now: AwaitedBrokers
    seen: dict[int, AwaitedBroker] = field(default_factory=dict)
    """Every broker that was awaited at some time, with its last known state."""
    returned_after: dict[int, float] = field(default_factory=dict)
    """Seconds from the begin of the wait until a broker returned."""
    waited_s: float = 0.0

    def __post_init__(self) -> None:
        self.seen = {each.broker_id: each for each in self.awaited_now.brokers}

    def until_all_have_returned(self, executor: ThreadPoolExecutor) -> None:
        clock = self.kafka.clock
        began = clock.monotonic()
        settle_until = 0.0
        looks: dict[int, Future[Broker]] = {}
        while True:
            self.waited_s = clock.monotonic() - began
            awaited = [each for each in self.awaited_now.brokers if self.waited_s < self._limit_s(each)]
            is_settling = self.awaited_now.left_to_controller and clock.monotonic() < settle_until
            if not awaited and not is_settling:
                return
            self._report(awaited)
            clock.sleep(_PAUSE_S)
            returned = self._find_returned(executor, looks, {each.broker_id for each in awaited})
            if returned or is_settling:
                for each in returned:
                    self.returned_after.setdefault(each, clock.monotonic() - began)
                self.found = survey_again(self.kafka, self.found)
                found = self.found
                self.awaited_now = find_awaited(found.offline, self.policies, found.brokers, found.lost)
                self.seen |= {each.broker_id: each for each in self.awaited_now.brokers}
            if returned:
                settle_until = clock.monotonic() + _SETTLE_S

    def _find_returned(
        self, executor: ThreadPoolExecutor, looks: dict[int, Future[Broker]], awaited: Collection[int]
    ) -> list[int]:
        """Return the awaited brokers that answer and are unfenced now. Silent ones are asked again."""
        registered = self._read_registrations()
        returned = []
        for broker_id in awaited:
            look = looks.get(broker_id)
            if look is not None and look.done():
                del looks[broker_id]
                broker = look.result()
                now = registered.get(broker_id)
                if broker.state in (BrokerState.ONLINE, BrokerState.FENCED) and now is not None and not now.is_fenced:
                    returned.append(broker_id)
            if broker_id in registered and broker_id not in looks:
                looks[broker_id] = executor.submit(self.kafka.probe_broker, registered[broker_id])
        return returned

    def _read_registrations(self) -> Mapping[int, Registration]:
        try:
            return {each.broker_id: each for each in self.kafka.describe_cluster().registrations}
        except KafkaOpsError:
            # The cluster answered before and may answer again: keep waiting until the limit.
            return {}

    def _limit_s(self, broker: AwaitedBroker) -> float:
        return self._limit_ms(broker) / 1000

    def _limit_ms(self, broker: AwaitedBroker) -> int:
        return max(self.limits.answer_ms, self.limits.needed_ms) if broker.holds_back else self.limits.answer_ms

    def _report(self, awaited: Collection[AwaitedBroker]) -> None:
        if not awaited:
            self.progress.step("waiting for the controller to elect the replicas that have returned")
            return
        left = max(self._limit_s(each) for each in awaited) - self.waited_s
        held_back = max(each.holds_back for each in awaited)
        needed = f", which {plural(held_back, 'partition', 'need')}" if held_back else ""
        self.progress.step(
            f"waiting for {name_with_states(awaited)}{needed}: {self.waited_s:.0f} s so far, {left:.0f} s at most"
        )

    def list_awaited(self) -> list[Awaited]:
        still = {each.broker_id for each in self.awaited_now.brokers}
        states = {each.broker_id: each for each in self.found.brokers}
        results = []
        for each in self.seen.values():
            has_returned = each.broker_id not in still and each.broker_id in self.returned_after
            waited_s = self.returned_after[each.broker_id] if has_returned else self.waited_s
            broker = states.get(each.broker_id)
            results.append(
                Awaited(
                    each.broker_id,
                    broker.state if broker else each.state,
                    broker.cause if broker else each.cause,
                    each.partitions,
                    each.holds_back,
                    self._limit_ms(each),
                    round(min(waited_s * 1000, self._limit_ms(each))) if self.limits.waits else None,
                    has_returned,
                )
            )
        return results
