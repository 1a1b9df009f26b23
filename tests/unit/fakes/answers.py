# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Answers of brokers: configs of brokers and topics, supported requests, and the age of their metadata."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.base_port import Key, Value
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.controllers import ControllerConfigs
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.errors import BrokerCallError
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.port import Kafka
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.settings import Address
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.retention import Retention
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.setting import Setting, SettingSource, number_of


def one_by_one(work: Callable[[Key], Value], keys: Iterable[Key]) -> dict[Key, Value | BrokerCallError]:
    """Do what ``in_parallel`` does in a test."""
    found: dict[Key, Value | BrokerCallError] = {}
    for each in keys:
        try:
            found[each] = work(each)
        except BrokerCallError as error:
            found[each] = error
    return found


@dataclass(kw_only=True)
class FakeAnswers(Kafka):
    """Returns the same value for every config of a topic or broker."""

    designates: bool = False
    """Whether the brokers offer elections of designated leaders."""
    doubt: str = ""
    """The warning if no answer confirms that the metadata is current."""
    topic_values: dict[str, str] = field(default_factory=dict)
    """Values of the topics' own configs, for any config."""
    broker_values: dict[int, str] = field(default_factory=dict)
    """The value that each broker returns for any config; "false" unless set."""
    min_isr: dict[str, int] = field(default_factory=dict)
    """min.insync.replicas of topics; 1 unless set."""
    configs_read: list[str] = field(default_factory=list)
    """Topics whose configs were read."""
    retentions: dict[str, Retention] = field(default_factory=dict)
    """By topic. Those of other topics cannot be read."""

    def in_parallel(self, work: Callable[[Key], Value], keys: Iterable[Key]) -> dict[Key, Value | BrokerCallError]:
        return one_by_one(work, keys)

    def topic_configs(self, names: Sequence[str], name: str) -> dict[str, Setting]:
        self.configs_read += names
        return {
            each: Setting(self.topic_values[each], SettingSource.BROKER)
            if each in self.topic_values
            else Setting("false", SettingSource.DEFAULT)
            for each in names
        }

    def read_retentions(self, topics: Collection[str]) -> dict[str, Retention]:
        return {each: self.retentions[each] for each in topics if each in self.retentions}

    def min_insync_replicas(self, topics: Collection[str], _living: Mapping[int, Address]) -> dict[str, int]:
        return {each: self.min_isr.get(each, 1) for each in topics}

    def broker_config(self, address: Address, broker_id: int, name: str) -> Setting | None:
        return Setting(self.broker_values.get(broker_id, "false"), SettingSource.DEFAULT)

    def broker_numbers(self, addresses: Mapping[int, Address], name: str) -> list[int | None]:
        return [number_of(self.broker_config(each, broker_id, name)) for broker_id, each in addresses.items()]

    def controller_configs(self, name: str) -> ControllerConfigs:
        return ControllerConfigs({101: "false"}, "")

    def offers_designated_election(self, addresses: Collection[Address]) -> bool:
        return self.designates

    def unconfirmed_view(self) -> str:
        return self.doubt
