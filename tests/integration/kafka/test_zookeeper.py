# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A cluster with ZooKeeper, of a release that is new enough: it is named, and not taken for a quorum that is down."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path

import pytest

from lab import jars, process
from lab.module_process import run_module
from lab.ports import HeldPorts
from lab.waiting import wait_until

pytestmark = [pytest.mark.wide, pytest.mark.on_any_version, pytest.mark.timeout(300)]

_LAST_WITH_ZOOKEEPER = "3.9.2"
_NAMED = "it does not know this request (this collection needs Kafka 3.9 or later with KRaft, without ZooKeeper)"


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Start ZooKeeper and one broker, and return the broker's address."""
    directory = tmp_path_factory.mktemp("zookeeper")
    ports = HeldPorts()
    zookeeper, broker = ports.take(), ports.take()
    with ExitStack() as running:

        def start(main: str, properties: Mapping[str, object]) -> None:
            file = directory / f"{main}.properties"
            file.write_text("".join(f"{name}={value}\n" for name, value in properties.items()))
            command = process.java_command(jars.kafka(_LAST_WITH_ZOOKEEPER), main, str(file), heap="256m")
            running.callback(process.kill, process.spawn(command, directory / f"{main}.log"))

        data, logs = directory / "data", directory / "logs"
        start(
            "org.apache.zookeeper.server.quorum.QuorumPeerMain",
            {"dataDir": data, "clientPort": zookeeper, "admin.enableServer": "false"},
        )
        start(
            "kafka.Kafka",
            {
                "broker.id": 1,
                "zookeeper.connect": f"127.0.0.1:{zookeeper}",
                "listeners": f"PLAINTEXT://127.0.0.1:{broker}",
                "log.dirs": logs,
            },
        )
        log = directory / "kafka.Kafka.log"
        wait_until(lambda: "KafkaServer id=1] started" in log.read_text(), 90, what="the broker has started")
        yield f"127.0.0.1:{broker}"
    ports.release()


@pytest.mark.parametrize("module", ["offline_partition_info", "quorum_info", "log_cleaner_info", "stop_gate"])
def test_a_module_names_the_kind_of_cluster(module: str, address: str) -> None:
    options = {"stop_gate": {"brokers": [1]}}.get(module, {})
    assert _NAMED in run_module(module, {"bootstrap_servers": [address], **options})["msg"]


def test_readiness_does_not_advise_to_start_brokers(address: str, tmp_path: Path) -> None:
    checks = run_module("readiness_info", {"bootstrap_servers": [address]})["checks"]
    (brokers,) = (each for each in checks if each["name"] == "brokers")
    assert (brokers["status"], brokers["remedy"]) == (
        "failed",
        "Migrate the cluster to KRaft, or upgrade it: until then, no playbook of this collection works there",
    )
