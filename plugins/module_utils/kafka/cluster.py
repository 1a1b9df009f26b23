# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Who is in the cluster (DescribeCluster, API key 60; fenced brokers since Kafka 4.0, KIP-1073)."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

from ansible_collections.kafkaops.recovery.plugins.module_utils.kafka import error_codes
from ansible_collections.kafkaops.recovery.plugins.module_utils.kafka.addresses import Address
from ansible_collections.kafkaops.recovery.plugins.module_utils.kafka.errors import BrokerCallError
from ansible_collections.kafkaops.recovery.plugins.module_utils.kafka.wire import Wire
from ansible_collections.kafkaops.recovery.plugins.module_utils.model.broker import Broker, BrokerState
from ansible_collections.kafkaops.recovery.plugins.module_utils.model.replica_log import Cause

with suppress(ImportError):  # a missing library is told by name before anything is done (glue/failures.py)
    from kafka.protocol.admin import DescribeClusterRequest

_STATES = {
    Cause.HUNG: BrokerState.HUNG,
    Cause.NOT_AUTHORISED: BrokerState.NOT_AUTHORISED,
}


@dataclass(frozen=True, slots=True)
class Registration:
    """A broker as the controller lists it."""

    broker_id: int
    address: Address
    rack: str | None
    is_fenced: bool


@dataclass(frozen=True, slots=True)
class Cluster:
    """The cluster as one broker describes it. Before Kafka 4.0 fenced brokers are not listed."""

    cluster_id: str
    registrations: tuple[Registration, ...]


def describe_cluster(wire: Wire) -> Cluster:
    """Asks whichever broker answers, and teaches the wire the brokers' addresses.

    Raises NoBrokerAnswersError or RequestRefusedError.
    """
    answer, _asked = wire.call_any(_describe_cluster_request, "DescribeCluster")
    if answer.error_code:
        raise error_codes.refusal("DescribeCluster", answer.error_code, answer.error_message)
    registrations = tuple(
        Registration(
            broker.broker_id,
            Address(broker.host, broker.port),
            broker.rack,
            bool(getattr(broker, "is_fenced", False)),
        )
        for broker in sorted(answer.brokers, key=lambda broker: broker.broker_id)
    )
    wire.learn({each.broker_id: each.address for each in registrations})
    return Cluster(answer.cluster_id, registrations)


def look_at_brokers(wire: Wire, cluster: Cluster, mentioned: frozenset[int] = frozenset()) -> tuple[Broker, ...]:
    """Tries every registered broker at once, within one request_timeout_ms, and says what each one is.

    ``mentioned`` are ids that occur in replica lists: one that the controller lists no address for is fenced or gone.
    """
    registered = {each.broker_id: each for each in cluster.registrations}
    answers = wire.in_parallel(
        lambda broker_id: wire.call(registered[broker_id].address, _describe_cluster_request()), registered
    )
    found = [_broker(each, answers[each.broker_id]) for each in cluster.registrations]
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


def _describe_cluster_request() -> DescribeClusterRequest:
    return DescribeClusterRequest(include_fenced_brokers=True)


def _broker(registration: Registration, answer: object) -> Broker:
    state, cause = BrokerState.ONLINE, ""
    if isinstance(answer, BrokerCallError):
        state = _STATES.get(answer.cause, BrokerState.UNREACHABLE)
        cause = str(answer)
    elif registration.is_fenced:
        state, cause = (
            BrokerState.FENCED,
            "it answers, but the controller fences it: look at its log and its metadata lag",
        )
    return Broker(
        registration.broker_id,
        registration.address.host,
        registration.address.port,
        registration.rack,
        is_fenced=registration.is_fenced,
        state=state,
        cause=cause,
    )
