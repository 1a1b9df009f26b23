# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Read min.insync.replicas. For a topic without its own value, each leader decides by the properties of its broker.

Brokers differ while a new value is rolled out, or if it was set on some of them only.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass

from .._model.partition import MIN_ISR
from .._model.setting import Setting, number_of
from .configs import broker_config, topic_configs
from .errors import RequestRefusedError
from .settings import Address
from .wire import Wire

_MOST_TOPICS = 3
"""Any topic without its own value shows that of the broker. One that is deleted meanwhile shows none."""


@dataclass(frozen=True, slots=True)
class MinIsrs:
    """The min.insync.replicas of topics, and those of brokers, which count for topics without their own value."""

    configs: Mapping[str, Setting]
    """By topic, as one broker has it."""
    by_broker: Mapping[int, int | None]
    """None if the broker does not say it. Empty if each topic has its own value."""

    @property
    def inherited(self) -> list[str]:
        """Return the topics without their own value."""
        return [topic for topic, each in self.configs.items() if not each.is_own]

    @property
    def by_topic(self) -> dict[str, int]:
        """Return the value of each topic: without an own one, the greatest one of the brokers.

        Topics for which it is unknown are left out, for example because one of these brokers does not say it.
        """
        own = {topic: int(each.value) for topic, each in self.configs.items() if each.is_own and each.value}
        greatest = self._greatest(self.by_broker)
        return own | (dict.fromkeys(self.inherited, greatest) if greatest is not None else {})

    def on_brokers(self, topic: str, brokers: Collection[int]) -> int | None:
        """Return a topic's value: without an own one, the greatest one of these of the brokers that were asked.

        None if it is unknown, for example because one of them does not say it.
        """
        config = self.configs.get(topic)
        if config is None or config.is_own:
            return number_of(config)
        return self._greatest(brokers)

    def _greatest(self, brokers: Collection[int]) -> int | None:
        values = [self.by_broker[each] for each in brokers if each in self.by_broker]
        known = [each for each in values if each is not None]
        return max(known) if known and len(known) == len(values) else None


def read_min_isrs(wire: Wire, topics: Collection[str], living: Mapping[int, Address]) -> MinIsrs:
    """Read the values of topics, and those of the ``living`` brokers if a topic has none of its own.

    Raises NoBrokerAnswersError or RequestRefusedError.
    """
    found = MinIsrs(topic_configs(wire, sorted(topics), MIN_ISR), {})
    some = sorted(found.inherited)[-_MOST_TOPICS:]

    def ask(broker_id: int) -> int | None:
        address = living[broker_id]
        with suppress(RequestRefusedError):
            for each in topic_configs(wire, some, MIN_ISR, address).values():
                if each.value and not each.is_own:
                    return int(each.value)
        # It does not know these topics yet. Or it was restarted, and topics of their names were deleted before: then it
        # shows the configs of those (Kafka 4.3.1 and 4.4.0: ConfigurationsDelta, when all of it is replayed at once).
        with suppress(RequestRefusedError):
            return number_of(broker_config(wire, address, broker_id, MIN_ISR))
        return None

    answers = wire.in_parallel(ask, living) if some else {}
    return MinIsrs(
        found.configs, {broker_id: each if isinstance(each, int) else None for broker_id, each in answers.items()}
    )
