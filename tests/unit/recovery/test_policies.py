# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The meaning of unclean.leader.election.enable if topics and brokers have different values."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.controllers import ControllerConfigs
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.errors import (
    BrokerCallError,
    NoBrokerAnswersError,
    RequestRefusedError,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.settings import Address
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import (
    Broker,
    BrokerState,
    Cause,
    PartitionState,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.setting import Setting, SettingSource
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.policies import (
    PolicyError,
    PolicyOptions,
    add_tiered_topics,
    read_policies,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.strategy import Policy, Strategy
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.survey import Survey
from unit.fakes.cluster import FakeCluster

_FROM_CONFIG = PolicyOptions(Policy(Strategy.BALANCED), from_config=True, acknowledges_unclean_leader_election=False)
_ACKNOWLEDGED = replace(_FROM_CONFIG, acknowledges_unclean_leader_election=True)


def _brokers(*states: BrokerState) -> list[Broker]:
    return [Broker(number, "host", 9092, None, False, state) for number, state in enumerate(states)]


_OFFLINE = PartitionState("true", 0, "A" * 22, -1, 1, (1, 2), (), None, None, (1,))


@pytest.mark.parametrize(
    ("answer", "known"),
    [
        (Setting("true", SettingSource.BROKER), {"true": True}),
        (Setting("false", SettingSource.DEFAULT), {"true": False}),
        (Setting(None, SettingSource.DEFAULT), {}),
        (None, {}),
    ],
    ids=["tiered", "not tiered", "no value", "hidden"],
)
def test_only_topics_with_offline_partitions_are_asked_whether_they_are_tiered(
    cluster: FakeCluster, answer: Setting | None, known: dict[str, bool]
) -> None:
    asked = []

    def topic_configs(topics: list[str], name: str) -> dict[str, Setting]:
        asked.append((topics, name))
        return {each: answer for each in topics if answer is not None}

    cluster.answer(topic_configs=topic_configs)
    assert add_tiered_topics(cluster, Survey("c", (), (_OFFLINE,), (), ())).tiered == known
    assert add_tiered_topics(cluster, Survey("c", (), (), (), (_OFFLINE,))).tiered == {}
    assert asked == [(["true"], "remote.storage.enable")]


@pytest.mark.parametrize(
    "error",
    [NoBrokerAnswersError("DescribeConfigs", []), RequestRefusedError("DescribeConfigs", 29, "no", is_transient=False)],
)
def test_unreadable_configs_are_unknown_and_raise_nothing(cluster: FakeCluster, error: Exception) -> None:
    def refuse(_topics: list[str], _name: str) -> dict[str, Setting]:
        raise error

    cluster.answer(topic_configs=refuse)
    assert add_tiered_topics(cluster, Survey("c", (), (_OFFLINE,), (), ())).tiered == {}


@pytest.fixture
def brokers_say() -> dict[int, str]:
    """Answer with each broker's value by id; a missing broker does not answer. Broker 0 answers for topics."""
    return {}


@pytest.fixture
def cluster(brokers_say: dict[int, str]) -> FakeCluster:
    """Check topics: "true" and "false" have their own value, and "unset" has none."""

    def broker_config(address: Address, broker_id: int, name: str) -> Setting:
        if broker_id not in brokers_say:
            raise BrokerCallError(str(address), Cause.HUNG, name)
        return Setting(brokers_say[broker_id], SettingSource.DEFAULT)

    def topic_configs(topics: list[str], _name: str) -> dict[str, Setting]:
        own = {"true": Setting("true", SettingSource.BROKER), "false": Setting("false", SettingSource.BROKER)}
        return {each: own.get(each, Setting(brokers_say[0], SettingSource.DEFAULT)) for each in topics}

    cluster = FakeCluster({}, set(), set(), {})
    nothing = ControllerConfigs({}, "controller 101: silent")
    cluster.answer(broker_config=broker_config, topic_configs=topic_configs, controller_configs=lambda _name: nothing)
    return cluster


def test_one_broker_is_enough_to_need_the_acknowledgement_and_not_enough_to_be_aggressive(
    cluster: FakeCluster, brokers_say: dict[int, str]
) -> None:
    brokers_say |= {0: "false", 1: "true"}
    online = _brokers(BrokerState.ONLINE, BrokerState.ONLINE)
    with pytest.raises(PolicyError, match="is true for unset: "):
        read_policies(cluster, ["false", "unset"], _FROM_CONFIG, online)
    assert read_policies(cluster, ["false", "true", "unset"], _ACKNOWLEDGED, online) == {
        "false": Policy(Strategy.BALANCED),
        "true": Policy(Strategy.AGGRESSIVE),
        "unset": Policy(Strategy.BALANCED),
    }
    brokers_say[0] = "true"
    assert read_policies(cluster, ["unset"], _ACKNOWLEDGED, online) == {"unset": Policy(Strategy.AGGRESSIVE)}


def test_a_controller_is_enough_to_need_the_acknowledgement(cluster: FakeCluster, brokers_say: dict[int, str]) -> None:
    brokers_say[0] = "false"
    cluster.answer(controller_configs=lambda _name: ControllerConfigs({101: "false", 102: "true"}, ""))
    with pytest.raises(PolicyError, match="is true for unset: "):
        read_policies(cluster, ["false", "unset"], _FROM_CONFIG)
    assert read_policies(cluster, ["false"], _FROM_CONFIG) == {"false": Policy(Strategy.BALANCED)}


def test_missing_and_silent_brokers_are_ignored(cluster: FakeCluster, brokers_say: dict[int, str]) -> None:
    brokers_say |= {0: "false", 2: "true"}
    some = _brokers(BrokerState.ONLINE, BrokerState.ONLINE, BrokerState.HUNG)
    assert read_policies(cluster, ["unset"], _FROM_CONFIG, some) == {"unset": Policy(Strategy.BALANCED)}
