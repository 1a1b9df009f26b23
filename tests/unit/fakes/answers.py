# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What brokers say of themselves: their configs and those of topics, what they offer, and how old their metadata is."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.configs import ConfigEntry, TopicConfig
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.port import Kafka
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.settings import Address


@dataclass(kw_only=True)
class FakeAnswers(Kafka):
    """Answers with the same value for every config of a topic or broker."""

    designates: bool = False
    """The brokers offer elections of designated leaders."""
    doubt: str = ""
    """Why nobody confirms that the metadata is current."""
    topic_values: dict[str, str] = field(default_factory=dict)
    """Values that topics have themselves, for any config."""
    broker_values: dict[int, str] = field(default_factory=dict)
    """What each broker says of any config; "false" unless set."""
    configs_read: list[str] = field(default_factory=list)
    """Topics whose configs were read."""

    def topic_configs(self, names: Sequence[str], name: str) -> dict[str, TopicConfig]:
        self.configs_read += names
        return {
            each: TopicConfig(self.topic_values.get(each, "false"), is_own=each in self.topic_values) for each in names
        }

    def broker_config(self, address: Address, broker_id: int, name: str) -> ConfigEntry | None:
        return ConfigEntry(self.broker_values.get(broker_id, "false"), is_sensitive=False)

    def offers_designated_election(self, addresses: Collection[Address]) -> bool:
        return self.designates

    def unconfirmed_view(self) -> str:
        return self.doubt
