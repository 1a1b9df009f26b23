# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Find the offline log directories of brokers that run. Only reads.

A broker with several log.dirs goes on without a directory that fails (KIP-112, KIP-858). The controller then lists the
replicas in it as offline, and the broker as unfenced: nothing is wrong with the broker, so it must not be "started".
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Protocol

from .._kafka.base_port import BaseKafka
from .._kafka.cluster import online_addresses
from .._kafka.errors import BrokerCallError
from .._kafka.log_dirs import LogDirs
from .._model.partition import Broker, BrokerState
from .._model.reasons import plural
from .._module.options import describe_unknown_brokers


class HasOfflineReplicas(Protocol):
    """A partition, as the metadata describes it or as a plan has it."""

    @property
    def offline_replicas(self) -> tuple[int, ...]: ...


def add_offline_dirs(
    kafka: BaseKafka, brokers: Sequence[Broker], partitions: Iterable[HasOfflineReplicas]
) -> tuple[Broker, ...]:
    """Return the brokers, those with their offline log directories that are online and have offline replicas.

    On a healthy cluster, no request is sent.
    """
    offline = Counter(broker_id for each in partitions for broker_id in each.offline_replicas)
    addresses = online_addresses(each for each in brokers if offline[each.broker_id])
    if not addresses:
        return tuple(brokers)
    found = kafka.in_parallel(lambda broker_id: kafka.describe_log_dirs(addresses[broker_id], ()), addresses)
    return tuple(
        _with_dirs(each, found[each.broker_id], offline[each.broker_id]) if each.broker_id in found else each
        for each in brokers
    )


def _with_dirs(broker: Broker, found: LogDirs | BrokerCallError, partitions: int) -> Broker:
    replicas = f"its replicas of {plural(partitions, 'partition')} are offline"
    if isinstance(found, BrokerCallError) or found.refusal:
        why = found if isinstance(found, BrokerCallError) else found.refusal
        cause = f"{replicas}, so a log directory of it is; which one is not known: {why}"
        return replace(broker, cause=cause)
    if not found.offline:
        cause = (
            f"{replicas}, although all its log directories are online: it has just returned, or one was replaced; look "
            "again"
        )
        return replace(broker, cause=cause)
    named = ", ".join(f"{path} ({error})" for path, error in sorted(found.offline.items()))
    are = "log directory is" if len(found.offline) == 1 else "log directories are"
    return replace(broker, cause=f"{are} offline: {named}; {replicas}", offline_log_dirs=tuple(sorted(found.offline)))


def describe_lost(lost: Collection[int], brokers: Collection[Broker]) -> Iterator[str]:
    """Yield a note for each broker that the operator named as lost, and that is online or unknown: perhaps a typo.

    ``brokers`` are those that are registered, and those with a replica.
    """
    yield from describe_unknown_brokers("lost_brokers", lost, brokers)
    for each in brokers:
        if each.broker_id not in lost or each.state is not BrokerState.ONLINE:
            continue
        how = "only its offline replicas count as lost" if each.cause else "it is treated like any other broker"
        yield f"lost_brokers names broker {each.broker_id}, which is online: {how}"
