# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""List the brokers of the cluster, and check each one (DescribeCluster, API key 60; KIP-1073 since Kafka 4.0)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable
from contextlib import suppress
from dataclasses import dataclass, replace

from .._model.partition import Broker, BrokerState, Cause
from .._model.setting import BROKER_RESOURCE
from . import error_codes
from .connection import Connection
from .errors import BrokerCallError
from .messages import describe_configs_request
from .settings import Address
from .wire import Wire

with suppress(ImportError):  # a missing library is reported before the module starts (_module/run.py)
    from kafka.protocol.admin import DescribeClusterRequest


_STATES = {
    Cause.UNREACHABLE: BrokerState.UNREACHABLE,
    Cause.HUNG: BrokerState.HUNG,
    Cause.NOT_AUTHORIZED: BrokerState.NOT_AUTHORIZED,
}
_AGAIN_MS = 1_500
"""The time of a broker that was silent at the last probe. If it hangs, or its host is down, each look waits so long."""
_LISTS_FENCED = 2
"""The version of DescribeCluster, since Kafka 4.0 (KIP-1073)."""


@dataclass(frozen=True, slots=True)
class Registration:
    """A broker as the controller lists it."""

    broker_id: int
    address: Address
    rack: str | None
    is_fenced: bool

    def as_broker(self, state: BrokerState = BrokerState.ONLINE, cause: str = "") -> Broker:
        """Return the broker in a state that was observed, with the cause if it is not online."""
        return Broker(self.broker_id, self.address.host, self.address.port, self.rack, self.is_fenced, state, cause)


@dataclass(frozen=True, slots=True)
class Cluster:
    """The cluster as one broker describes it."""

    cluster_id: str
    registrations: tuple[Registration, ...]
    lists_fenced: bool = True
    """False before Kafka 4.0: a broker that is not listed may be fenced or unregistered."""

    @property
    def addresses(self) -> dict[int, Address]:
        """Return the addresses of all registered brokers, by id."""
        return {each.broker_id: each.address for each in self.registrations}

    @property
    def unfenced(self) -> dict[int, Address]:
        """Return the addresses of the brokers that the controller does not fence, by id."""
        return {each.broker_id: each.address for each in self.registrations if not each.is_fenced}

    def with_last(self, broker_ids: Collection[int]) -> Cluster:
        """Return the cluster with these brokers last, so that others are preferred for writes and new topics."""
        ordered = sorted(self.registrations, key=lambda each: each.broker_id in broker_ids)
        return replace(self, registrations=tuple(ordered))

    def online(self, brokers: Collection[Broker]) -> dict[int, Address]:
        """Return the addresses of the brokers that are online according to ``brokers``, by id."""
        online = {each.broker_id for each in brokers if each.state is BrokerState.ONLINE}
        return {each.broker_id: each.address for each in self.registrations if each.broker_id in online}

    def living(self, brokers: Collection[Broker] = ()) -> dict[int, Address]:
        """Return the addresses of the brokers to send writes to: those that are online according to ``brokers``.

        A hung broker could execute a write late. If none is online or ``brokers`` is empty, return the unfenced
        brokers. If there are none, return all: a fenced broker still forwards requests to the controller.

        Neighbors are of different racks, so that the replicas of a topic on the first ones bear the loss of a rack.
        """
        return self._across_racks(self.online(brokers) or self.unfenced or self.addresses)

    def _across_racks(self, addresses: dict[int, Address]) -> dict[int, Address]:
        earlier: Counter[str | None] = Counter()
        turns: dict[int, int] = {}
        for each in self.registrations:
            if each.broker_id in addresses:
                turns[each.broker_id] = earlier[each.rack]
                earlier[each.rack] += 1
        return {each: addresses[each] for each in sorted(turns, key=lambda broker_id: turns[broker_id])}


def online_addresses(brokers: Iterable[Broker]) -> dict[int, Address]:
    """Return the addresses of the brokers that are online, by id."""
    return {
        each.broker_id: Address(each.host, each.port)
        for each in brokers
        if each.state is BrokerState.ONLINE and each.host is not None and each.port is not None
    }


def describe_cluster(wire: Wire, *, any_view: bool = False) -> Cluster:
    """Describe the cluster as the first broker that answers sees it, and pass the brokers' addresses to the wire.

    With ``any_view``, it is not checked that the broker is in touch with the controllers.

    Raises NoBrokerAnswersError or RequestRefusedError.
    """
    ask = wire.call_any if any_view else wire.call_current
    answer, _source = ask(_describe_cluster_request, "DescribeCluster")
    error_codes.raise_if_refused("DescribeCluster", answer)
    registrations = tuple(
        Registration(
            broker.broker_id,
            Address(broker.host or "", broker.port),  # kafka-python accepts null where Kafka does not allow it
            broker.rack,
            bool(getattr(broker, "is_fenced", False)),
        )
        for broker in sorted(answer.brokers, key=lambda broker: broker.broker_id)
    )
    cluster = Cluster(answer.cluster_id, registrations, lists_fenced=answer.version >= _LISTS_FENCED)
    wire.remember_addresses(cluster.addresses)
    return cluster


def probe_brokers(wire: Wire, cluster: Cluster, mentioned: frozenset[int] = frozenset()) -> tuple[Broker, ...]:
    """Connect to all registered brokers in parallel, within one request_timeout_ms, and return each one's state.

    A broker that was silent when it was probed last gets less time: a run looks several times.

    ``mentioned`` are the ids in replica lists. If the controller lists no address for one, it is fenced or
    unregistered.
    """
    registered = {each.broker_id: each for each in cluster.registrations}

    def probe(broker_id: int) -> Broker:
        is_silent = registered[broker_id].address in wire.silent
        limit_ms = min(_AGAIN_MS, wire.settings.request_timeout_ms) if is_silent else None
        return probe_broker(wire, registered[broker_id], timeout_ms=limit_ms)

    answers = wire.in_parallel(probe, registered)
    found = [each for each in answers.values() if isinstance(each, Broker)]
    found += [
        Broker(
            broker_id,
            None,
            None,
            None,
            is_fenced=True,
            state=BrokerState.FENCED,
            cause="the controller lists no address for it: it is fenced, shut down or unregistered",
        )
        for broker_id in mentioned - registered.keys()
    ]
    return tuple(sorted(found, key=lambda broker: broker.broker_id))


def probe_broker(wire: Wire, registration: Registration, *, timeout_ms: int | None = None) -> Broker:
    """Connect to one registered broker and return its state. ``timeout_ms`` is that of ``Wire.call``."""
    try:
        wire.call(registration.address, _describe_cluster_request(), timeout_ms=timeout_ms)
        wire.silent.discard(registration.address)
    except BrokerCallError as error:
        if error.cause in (Cause.HUNG, Cause.UNREACHABLE):
            wire.silent.add(registration.address)
        state = _STATES.get(error.cause)
        if state is None:
            return registration.as_broker(BrokerState.UNREACHABLE, str(error))
        return registration.as_broker(state, error.without_cause)
    if registration.is_fenced:
        cause = "it answers, but the controller fences it: look at its log and its metadata lag"
        return registration.as_broker(BrokerState.FENCED, cause)
    return registration.as_broker()


def _describe_cluster_request() -> DescribeClusterRequest:
    return DescribeClusterRequest(include_fenced_brokers=True)


_INVALID_REQUEST = 42


def check_identity(connection: Connection, broker_id: int, *, timeout_ms: int | None = None) -> None:
    """Check that this broker answers on the connection, by a config that no other broker returns (DescribeConfigs).

    No RPC returns a broker's id directly. Without DESCRIBE_CONFIGS on the cluster every broker refuses the request, and
    nothing is checked.

    Raises BrokerCallError, with Cause.WRONG_BROKER if another broker answers.
    """
    request = describe_configs_request(BROKER_RESOURCE, [str(broker_id)], ["node.id"])
    response = connection.call(request, timeout_ms=timeout_ms)
    for result in response.results:
        if result.error_code == _INVALID_REQUEST:
            raise BrokerCallError(
                str(connection.address),
                Cause.WRONG_BROKER,
                f"another broker answers here: {error_codes.describe_error(result.error_code, result.error_message)}",
                hint=f"check advertised.listeners of broker {broker_id}, and any proxy or load balancer before it",
            )
