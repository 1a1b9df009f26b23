# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What unclean.leader.election.enable of topics and brokers means, where they say different things."""

from __future__ import annotations

from typing import cast

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils.kafka.addresses import Address
from ansible_collections.kafkaops.recovery.plugins.module_utils.kafka.configs import ConfigEntry, TopicConfig
from ansible_collections.kafkaops.recovery.plugins.module_utils.kafka.errors import BrokerCallError
from ansible_collections.kafkaops.recovery.plugins.module_utils.kafka.wire import Wire
from ansible_collections.kafkaops.recovery.plugins.module_utils.model.broker import Broker, BrokerState
from ansible_collections.kafkaops.recovery.plugins.module_utils.model.replica_log import Cause
from ansible_collections.kafkaops.recovery.plugins.module_utils.operations import policies
from ansible_collections.kafkaops.recovery.plugins.module_utils.operations.policies import (
    PolicyError,
    PolicyOptions,
    read_policies,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils.recovery.policy import Policy
from ansible_collections.kafkaops.recovery.plugins.module_utils.recovery.strategy import Strategy

_WIRE = cast(Wire, None)
_FROM_CONFIG = PolicyOptions(None, None, acknowledges_unclean_leader_election=False)
_ACKNOWLEDGED = PolicyOptions(None, None, acknowledges_unclean_leader_election=True)


def _brokers(*states: BrokerState) -> list[Broker]:
    return [Broker(number, "host", 9092, None, False, state) for number, state in enumerate(states)]


@pytest.fixture
def brokers_say(monkeypatch: pytest.MonkeyPatch) -> dict[int, str]:
    """By broker id, what each says; one that is not in it does not answer. Broker 0 tells of topics."""
    say: dict[int, str] = {}

    def broker_config(_wire: Wire, address: Address, broker_id: int, name: str) -> ConfigEntry:
        if broker_id not in say:
            raise BrokerCallError(str(address), Cause.HUNG, name)
        return ConfigEntry(say[broker_id], is_sensitive=False)

    def topic_configs(_wire: Wire, topics: list[str], _name: str) -> dict[str, TopicConfig]:
        own = {"true": TopicConfig("true", is_own=True), "false": TopicConfig("false", is_own=True)}
        return {each: own.get(each, TopicConfig(say[0], is_own=False)) for each in topics}

    monkeypatch.setattr(policies, "broker_config", broker_config)
    monkeypatch.setattr(policies, "topic_configs", topic_configs)
    return say


def test_one_broker_is_enough_to_need_the_acknowledgement_and_not_enough_to_be_aggressive(
    brokers_say: dict[int, str],
) -> None:
    brokers_say |= {0: "false", 1: "true"}
    online = _brokers(BrokerState.ONLINE, BrokerState.ONLINE)
    with pytest.raises(PolicyError, match="is true for unset: "):
        read_policies(_WIRE, ["false", "unset"], _FROM_CONFIG, online)
    assert read_policies(_WIRE, ["false", "true", "unset"], _ACKNOWLEDGED, online) == {
        "false": Policy(Strategy.BALANCED),
        "true": Policy(Strategy.AGGRESSIVE),
        "unset": Policy(Strategy.BALANCED),
    }
    brokers_say[0] = "true"
    assert read_policies(_WIRE, ["unset"], _ACKNOWLEDGED, online) == {"unset": Policy(Strategy.AGGRESSIVE)}


def test_brokers_that_are_away_or_do_not_answer_are_passed_over(brokers_say: dict[int, str]) -> None:
    brokers_say |= {0: "false", 2: "true"}
    some = _brokers(BrokerState.ONLINE, BrokerState.ONLINE, BrokerState.HUNG)
    assert read_policies(_WIRE, ["unset"], _FROM_CONFIG, some) == {"unset": Policy(Strategy.BALANCED)}
