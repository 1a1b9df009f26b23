# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the controllers' own properties decide, and no broker returns."""

from __future__ import annotations

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._changes.journal_reader import JournalOptions
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.port import Kafka
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.settings import (
    Address,
    ConnectionSettings,
    ControllerListeners,
    settings_from,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.wire import Wire
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import TopicPartition
from ansible_collections.kafkaops.recovery.plugins.module_utils._readiness.inspection import (
    ReadinessOptions,
    check_readiness,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.policies import (
    PolicyError,
    refuse_unclean_by_controller,
)
from lab import Cluster, wait_until
from lab import settings as node_settings

_MIN_ISR = "min.insync.replicas"
_UNCLEAN = "unclean.leader.election.enable"


@pytest.mark.wide
@pytest.mark.on_every_version
def test_a_controller_that_elects_unclean_by_its_own_properties_is_found(kafka_version: str) -> None:
    listeners = ("PLAINTEXT", "SASL_PLAINTEXT")
    with Cluster(kafka_version, brokers=2, controller_properties={_UNCLEAN: "true"}, listeners=listeners) as cluster:
        cluster.client.create_topic("orders", {0: [1]})
        cluster.client.create_topic("own", {0: [1]}, {_UNCLEAN: "false"})
        cluster.brokers[1].kill()
        wait_until(lambda: cluster.client.leader("own") is None, 60, what="the topics are offline")
        settings = settings_from({"bootstrap_servers": cluster.bootstrap(), "request_timeout_ms": 5000})
        here = (Address("127.0.0.1", cluster.active_controller().port),)
        orders, own = ([TopicPartition(each, 0)] for each in ("orders", "own"))
        with Wire(settings) as connected:
            kafka = Kafka(connected)
            brokers = kafka.probe_brokers(kafka.describe_cluster())
        for named in (here, ()):  # without a name, the brokers say where they are
            with Wire(settings, ControllerListeners(named)) as connected:
                with pytest.raises(PolicyError, match="is true for orders: "):
                    refuse_unclean_by_controller(Kafka(connected), [*orders, *own], brokers)
                assert refuse_unclean_by_controller(Kafka(connected), own, brokers) == ()
        with Wire(_by_sasl(cluster)) as connected:
            (note,) = refuse_unclean_by_controller(Kafka(connected), orders, brokers)
        assert "controllers' listeners is PLAINTEXT, and that of this run's connections is SASL_PLAINTEXT" in note
        assert "set kafka_bootstrap_controllers and kafka_controllers_command_config" in note
        assert _warn_of(settings, here) == ["unclean.leader.election.enable of topic orders is false by the brokers'"]
        assert _warn_of(settings, ()) == _warn_of(settings, here)
        assert _warn_of(_by_sasl(cluster), ()) == [
            f"the controllers' own {each} is unknown" for each in (_MIN_ISR, _UNCLEAN)
        ]


def _by_sasl(cluster: Cluster) -> ConnectionSettings:
    return settings_from(
        {
            "bootstrap_servers": cluster.bootstrap("SASL_PLAINTEXT"),
            "request_timeout_ms": 5000,
            "security_protocol": "SASL_PLAINTEXT",
            "sasl_mechanism": "PLAIN",
            "sasl_username": "alice",
            "sasl_password": "alice-secret",
        }
    )


@pytest.mark.wide
def test_a_removed_controller_decides_nothing(kafka_version: str) -> None:
    """It stays registered, and may go on to run as an observer, with properties of its own."""
    with Cluster(kafka_version, brokers=2, controllers=3, dynamic_quorum=True) as cluster:
        cluster.client.create_topic("orders", {0: [1]})
        removed = next(each for each in cluster.controllers.values() if each is not cluster.active_controller())
        removed.stop()
        removed.properties[_UNCLEAN] = "true"
        removed.start()
        cluster.brokers[1].kill()
        wait_until(lambda: cluster.client.leader("orders") is None, 60, what="the topic is offline")
        settings = settings_from({"bootstrap_servers": cluster.bootstrap(), "request_timeout_ms": 5000})
        here = tuple(Address("127.0.0.1", each.port) for each in cluster.controllers.values())

        def refuse() -> tuple[str, ...]:
            with Wire(settings, ControllerListeners(here)) as connected:
                kafka = Kafka(connected)
                brokers = kafka.probe_brokers(kafka.describe_cluster())
                return refuse_unclean_by_controller(kafka, [TopicPartition("orders", 0)], brokers)

        with pytest.raises(PolicyError, match="is true for orders: "):
            refuse()
        remove(cluster, removed.node_id)
        assert refuse() == ()
        assert _warn_of(settings, here) == []
        removed.kill()
        assert refuse() == ()
        assert _warn_of(settings, here) == []


def remove(cluster: Cluster, controller_id: int) -> None:
    """Remove a voter by Kafka's own tool. Its directory id is in its metadata log's directory."""
    text = (cluster.controllers[controller_id].data_dirs[0] / "meta.properties").read_text()
    (directory,) = (line.partition("=")[2] for line in text.splitlines() if line.startswith("directory.id="))
    where = ("--bootstrap-server", cluster.bootstrap(node_settings.INTERNAL), "remove-controller")
    which = ("--controller-id", str(controller_id), "--controller-directory-id", directory)
    cluster.client.run_tool("org.apache.kafka.tools.MetadataQuorumCommand", *where, *which).check_returncode()


def _warn_of(settings: ConnectionSettings, controllers: tuple[Address, ...]) -> list[str]:
    """Return how each warning of readiness about the controllers' properties begins."""
    options = ReadinessOptions(journal=JournalOptions(), memory_topic="m")
    with Wire(settings, ControllerListeners(controllers)) as connected:
        checks = check_readiness(Kafka(connected), options).checks
    texts = [each.found for each in checks if "the active controller decides" in each.found]
    return sorted(each.partition(" properties")[0].partition(" (")[0] for each in texts)
