# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The list, the config and the replica orders on real brokers. No run here moves a leader."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from kafka.protocol.api_key import ApiKey

from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.configs import (
    cluster_default,
    write_cluster_default,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.settings import Address
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.wire import Wire
from ansible_collections.kafkaops.recovery.plugins.module_utils._leadership.blacklist import BlacklistError, Change
from ansible_collections.kafkaops.recovery.plugins.module_utils._leadership.decide import OrderStatus
from ansible_collections.kafkaops.recovery.plugins.module_utils._leadership.view import CONFIG_NAME
from lab import Cluster
from lab.faults import Rewrite
from lab.leadership import Operator, add_partitions, leaders, orders, outcome
from lab.waiting import wait_until

_DESCRIBE_CONFIGS = 32
_BROKER = 4
_ORIGINAL = {0: (1, 2, 3), 1: (2, 1, 3), 2: (3, 4, 1), 3: (4, 3, 2)}
_WITHOUT_1 = {0: (2, 3, 1), 1: (2, 3, 1), 2: (3, 4, 1), 3: (4, 3, 2)}


def _is_set(operator: Operator, *addresses: Address) -> bool:
    """Return whether the config is set, from any broker or from these."""
    asked = addresses or operator.settings.bootstrap_servers
    with Wire(replace(operator.settings, bootstrap_servers=asked)) as wire:
        return cluster_default(wire, CONFIG_NAME) is not None


def test_check_mode_a_change_a_second_run_and_the_restore(cluster: Cluster, operator: Operator) -> None:
    cluster.client.create_topic("plain", _ORIGINAL)
    led = leaders(cluster, "plain")

    cluster.proxy.clear_once_idle()
    foreseen = operator.run(Change.PRESENT, 1, check_mode=True)
    assert foreseen.is_changed
    assert outcome(foreseen, "plain").replicas_after == (2, 3, 1)
    assert outcome(foreseen, "plain").status is OrderStatus.WOULD_REORDER
    assert orders(cluster, "plain") == _ORIGINAL
    assert cluster.proxy.write_requests() == []

    done = operator.list(1)
    assert leaders(cluster, "plain") == led
    assert ApiKey.ElectLeaders not in {each.api_key for each in cluster.proxy.write_requests()}
    assert orders(cluster, "plain") == _WITHOUT_1
    assert _is_set(operator)
    assert outcome(done, "plain").status is OrderStatus.REORDERED
    assert outcome(done, "plain", 2).status is OrderStatus.IN_ORDER

    cluster.proxy.clear_once_idle()
    assert not operator.list(1).is_changed
    assert not operator.list().is_changed
    assert cluster.proxy.write_requests() == []

    back = operator.unlist(1)
    assert orders(cluster, "plain") == _ORIGINAL
    assert outcome(back, "plain").status is OrderStatus.RESTORED
    assert not _is_set(operator)
    assert leaders(cluster, "plain") == led

    cluster.proxy.clear_once_idle()
    assert not operator.unlist(1).is_changed
    assert cluster.proxy.write_requests() == []


def test_a_broker_that_is_not_registered_is_refused_by_name(cluster: Cluster, operator: Operator) -> None:
    """11 is a typing error for 1: the run would succeed without effect."""
    cluster.proxy.clear_once_idle()
    with pytest.raises(BlacklistError, match=r"not registered with this cluster: broker 11; registered are 1, 2, 3, 4"):
        operator.list(1, 11)
    assert cluster.proxy.write_requests() == []


@pytest.mark.wide
def test_several_brokers_are_listed_in_order_and_removed_one_by_one(cluster: Cluster, operator: Operator) -> None:
    original = {0: (1, 2, 3), 1: (4, 2, 1), 2: (3, 1, 2)}
    cluster.client.create_topic("several", original)
    operator.list(1, 2)
    assert orders(cluster, "several") == {0: (3, 1, 2), 1: (4, 2, 1), 2: (3, 1, 2)}
    operator.unlist(1)
    assert orders(cluster, "several") == {0: (1, 3, 2), 1: (4, 1, 2), 2: (3, 1, 2)}
    operator.run(Change.EXACT, 3)
    assert orders(cluster, "several") == {0: (1, 2, 3), 1: (4, 2, 1), 2: (1, 2, 3)}
    operator.restore()
    assert orders(cluster, "several") == original


@pytest.mark.wide
def test_every_replica_listed(cluster: Cluster, operator: Operator) -> None:
    cluster.client.create_topic("all", {0: (2, 1)})
    result = operator.list(1, 2)
    assert orders(cluster, "all") == {0: (2, 1)}
    assert outcome(result, "all").status is OrderStatus.ALL_LISTED


def test_new_partitions_and_topics(cluster: Cluster, operator: Operator) -> None:
    cluster.client.create_topic("grows", {0: (1, 2)})
    operator.list(1)
    add_partitions(cluster, "grows", [(1, 3)])
    cluster.client.create_topic("new", {0: (1, 4)})
    scheduled = operator.list()
    assert (scheduled.before, scheduled.after) == (scheduled.after, scheduled.before)
    assert orders(cluster, "grows") == {0: (2, 1), 1: (3, 1)}
    assert orders(cluster, "new") == {0: (4, 1)}
    operator.restore()
    assert orders(cluster, "grows") == {0: (1, 2), 1: (1, 3)}
    assert orders(cluster, "new") == {0: (1, 4)}


@pytest.mark.wide
def test_topics_by_pattern(cluster: Cluster, operator: Operator) -> None:
    for topic in ("eu-orders", "eu-audit", "us-orders"):
        cluster.client.create_topic(topic, {0: (1, 2, 3)})
    result = operator.list(1, topics=["eu-*"])
    assert not result.writes_config
    assert orders(cluster, "eu-orders") == orders(cluster, "eu-audit") == {0: (2, 3, 1)}
    assert orders(cluster, "us-orders") == {0: (1, 2, 3)}
    operator.list(2)
    assert orders(cluster, "eu-orders") == {0: (3, 1, 2)}
    assert orders(cluster, "us-orders") == {0: (1, 3, 2)}
    operator.run(Change.ABSENT, 1, topics=["eu-*"])
    assert orders(cluster, "eu-orders") == {0: (1, 3, 2)}
    operator.list(3, topics=["us-*"])
    emptied = operator.restore()
    assert not emptied.after
    for topic in ("eu-orders", "eu-audit", "us-orders"):
        assert orders(cluster, topic) == {0: (1, 2, 3)}


def test_another_partys_list_is_replaced_only_by_state_exact(cluster: Cluster, operator: Operator) -> None:
    """This happens after the memory was lost: the present list cannot be read."""

    def set_by_somebody(response: Any) -> None:
        for result in response.results:
            if result.resource_name == "":
                result.configs = [_config(response, value=None, is_sensitive=True)]

    with cluster.proxy.inject(Rewrite(set_by_somebody), api_key=_DESCRIBE_CONFIGS):
        with pytest.raises(BlacklistError, match="does not have the list"):
            operator.run(Change.PRESENT, 1, memory_topic="_another")
        foreseen = operator.run(Change.EXACT, 1, memory_topic="_another", check_mode=True)
    assert "it is replaced" in foreseen.warnings[0]


@pytest.mark.wide
def test_a_config_that_another_party_deleted_is_written_again(cluster: Cluster, operator: Operator) -> None:
    operator.list(3)
    with Wire(operator.settings) as wire:
        write_cluster_default(wire, operator.settings.bootstrap_servers[0], CONFIG_NAME, None)
    brokers = operator.settings.bootstrap_servers
    wait_until(
        lambda: not any(_is_set(operator, each) for each in brokers),
        what="every broker knows that the config is deleted",
    )
    result = operator.list()
    assert "another party has deleted it" in result.warnings[0]
    assert _is_set(operator)


@pytest.mark.wide
def test_a_config_that_another_party_set_after_the_list_was_emptied_is_reported_and_deleted(
    cluster: Cluster, operator: Operator
) -> None:
    operator.list(3)
    operator.restore()
    with Wire(operator.settings) as wire:
        write_cluster_default(wire, operator.settings.bootstrap_servers[0], CONFIG_NAME, "2")
    brokers = operator.settings.bootstrap_servers
    wait_until(lambda: all(_is_set(operator, each) for each in brokers), what="every broker knows that it is set")
    result = operator.restore()
    assert result.warnings[0].endswith("or another party has set it. It is deleted now")
    assert not _is_set(operator)


@pytest.mark.wide
def test_brokers_that_know_the_config_need_no_order(cluster: Cluster, operator: Operator) -> None:
    """No released broker knows the config, so the proxy rewrites the answers."""
    cluster.client.create_topic("native", {0: (1, 2, 3)})
    operator.list(1)

    def known(response: Any) -> None:
        for result in response.results:
            if result.resource_type == _BROKER:
                result.configs = [_config(response, value="1", is_sensitive=False)]

    with cluster.proxy.inject(Rewrite(known), api_key=_DESCRIBE_CONFIGS):
        result = operator.list()
        assert result.is_native
        assert outcome(result, "native").status is OrderStatus.RESTORED
        assert orders(cluster, "native") == {0: (1, 2, 3)}
        assert not operator.list(1).is_changed


def _config(response: Any, *, value: str | None, is_sensitive: bool) -> Any:
    return response.DescribeConfigsResult.DescribeConfigsResourceResult(
        name=CONFIG_NAME,
        value=value,
        read_only=False,
        config_source=3,
        is_sensitive=is_sensitive,
        synonyms=[],
        config_type=0,
        documentation=None,
    )
