# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Read min.insync.replicas. For a topic without its own value, each leader decides by the properties of its broker.

Brokers differ while a new value is rolled out, or if it was set on some of them only.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from .configs import topic_configs
from .errors import RequestRefusedError
from .settings import Address
from .wire import Wire

MIN_ISR = "min.insync.replicas"
_MOST_TOPICS = 3
"""Any topic without its own value shows that of the broker. One that is deleted meanwhile shows none."""


def min_insync_replicas(wire: Wire, topics: Collection[str], living: Mapping[int, Address]) -> dict[str, int]:
    """Return the min.insync.replicas of topics: without an own value, the greatest one of the ``living`` brokers.

    Topics for which it is unknown are left out, for example because one of these brokers does not say it.

    Raises NoBrokerAnswersError or RequestRefusedError.
    """
    found = topic_configs(wire, sorted(topics), MIN_ISR)
    inherited = [topic for topic, each in found.items() if not each.is_own]
    values = [*min_isr_by_broker(wire, inherited, living).values()]
    known = [each for each in values if each is not None]
    greatest = dict.fromkeys(inherited, max(known)) if known and len(known) == len(values) else {}
    return {topic: int(each.value) for topic, each in found.items() if each.is_own and each.value} | greatest


def min_isr_by_broker(wire: Wire, inherited: Collection[str], living: Mapping[int, Address]) -> dict[int, int | None]:
    """Return the min.insync.replicas that each broker has for topics without their own value. None if it is unknown."""
    some = sorted(inherited)[-_MOST_TOPICS:]

    def ask(broker_id: int) -> int | None:
        try:
            found = topic_configs(wire, some, MIN_ISR, living[broker_id])
        except RequestRefusedError:
            return None
        return next((int(each.value) for each in found.values() if each.value and not each.is_own), None)

    answers = wire.in_parallel(ask, living) if some else {}
    return {broker_id: each if isinstance(each, int) else None for broker_id, each in answers.items()}
