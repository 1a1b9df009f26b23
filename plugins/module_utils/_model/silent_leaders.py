# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Find partitions whose leader does not answer, and wait until the controller fences such a broker.

Until broker.session.timeout.ms after a broker's last heartbeat (9 s by default), the metadata names it as leader.
Standard library only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sized
from typing import TypeVar

from .partition import Broker, BrokerState, PartitionState
from .reason import say
from .reasons import plural
from .run import Clock

Look = TypeVar("Look")

_PAUSE_S = 1.0
_SILENT = (BrokerState.UNREACHABLE, BrokerState.HUNG, BrokerState.GIVEN_UP)


def silent_brokers(brokers: Iterable[Broker]) -> dict[int, Broker]:
    """Return the brokers by id that do not answer, and that the controller has not fenced: they may be leaders."""
    return {each.broker_id: each for each in brokers if each.state in _SILENT and not each.is_fenced}


def led_by_silent(
    states: Iterable[PartitionState], silent: Mapping[int, Broker]
) -> Iterator[tuple[PartitionState, str]]:
    """Yield the partitions that the metadata says a silent broker leads, each with the reason for doubt."""
    for state in states:
        broker = silent.get(state.leader_id)
        if broker is not None:
            yield state, describe_silent_leader(broker)


def describe_silent_leader(broker: Broker) -> str:
    """Say why it is unknown whether the partitions of this leader can be used, and what to do."""
    return say(
        "the metadata names broker {broker} as leader, and it does not answer ({cause}): if it is dead or hung, the "
        "controller fences it after broker.session.timeout.ms (9 s by default), so run this again; if it runs, check "
        "its advertised.listeners and the network between it and this host",
        broker=broker.broker_id,
        cause=broker.cause,
    )


def wait_for_fencing(
    look: Callable[[], Look],
    in_doubt: Callable[[Look], Sized],
    limit_ms: int,
    clock: Clock,
    report: Callable[[str], object],
) -> Look:
    """Look each second until no broker is silent, or the limit has passed. Return the last look.

    ``look`` reads the cluster, and ``in_doubt`` returns the partitions of a look that a silent broker leaves in doubt.
    ``report`` gets the progress.
    """
    began = clock.monotonic()
    while True:
        found = look()
        left = in_doubt(found)
        waited_ms = int((clock.monotonic() - began) * 1000)
        if not left or waited_ms >= limit_ms:
            return found
        report(
            "waiting until the controller fences brokers that do not answer, because of "
            f"{plural(len(left), 'partition')}: {waited_ms // 1000} of at most {limit_ms // 1000} s"
        )
        clock.sleep(_PAUSE_S)
