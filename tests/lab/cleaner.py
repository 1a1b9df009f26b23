# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Clusters with metric agents, whose log cleaners can be killed, blocked, and stopped by a damaged segment."""

from __future__ import annotations

import struct
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, ConfigSource

from lab import jars, settings, versions
from lab.cluster import Cluster
from lab.health import heal
from lab.module_process import Account, results, start_module
from lab.ports import HeldPorts
from lab.proxy import Proxy
from lab.request import Request
from lab.waiting import wait_until
from lab.work_dir import WorkDir, default_base

SMALL = {
    # The cleaner runs every half second, and segments are rolled and deleted within seconds.
    "log.cleaner.backoff.ms": 500,
    "log.cleaner.threads": 1,
    "log.segment.delete.delay.ms": 100,
    "file.delete.delay.ms": 100,
    "offsets.topic.num.partitions": 1,
    "transaction.state.log.num.partitions": 1,
}
WELL = {"healthy", "idle"}
"""Diagnoses of a broker whose cleaner needs nothing."""

COMPACTED = {
    "cleanup.policy": "compact",
    "segment.bytes": 1024 * 1024,
    "min.cleanable.dirty.ratio": 0.01,
    "file.delete.delay.ms": 100,
}

_CLEANERS = {
    True: "kafka.log.LogCleaner$CleanerThread",
    False: "org.apache.kafka.storage.internals.log.LogCleaner$CleanerThread",
}
_RULES = """\
RULE kill
CLASS {thread}
METHOD doWork
AT ENTRY
BIND switch:java.io.File = new java.io.File(java.lang.System.getProperty("lab.switch") + ".kill")
IF switch.exists()
DO THROW new java.lang.Error("killed by the lab")
ENDRULE

RULE hang
CLASS {thread}
METHOD doWork
AT ENTRY
BIND switch:java.io.File = new java.io.File(java.lang.System.getProperty("lab.switch") + ".hang")
IF switch.exists()
DO traceln("hung by the lab"); waitFor("hang", 3600000)
ENDRULE

RULE wake
CLASS {cleaner}
METHOD deadThreadCount
AT ENTRY
BIND switch:java.io.File = new java.io.File(java.lang.System.getProperty("lab.switch") + ".hang")
IF !switch.exists()
DO signalWake("hang")
ENDRULE
"""
_EXPORTER = """\
lowercaseOutputName: true
rules:
  - pattern: kafka.(\\w+)<type=(.+), name=(.+), (.+)=(.+)><>Value
    name: kafka_$1_$2_$3
    labels:
      "$4": "$5"
  - pattern: kafka.(\\w+)<type=(.+), name=(.+)><>Value
    name: kafka_$1_$2_$3
"""


def own_settings(admin: AdminClient, broker: int) -> dict[str, str]:
    """Return the broker's own dynamic settings."""
    resource = ConfigResource(ConfigResource.Type.BROKER, str(broker))
    entries = admin.describe_configs([resource])[resource].result(30)
    dynamic = ConfigSource.DYNAMIC_BROKER_CONFIG.value
    return {name: entry.value for name, entry in entries.items() if entry.source == dynamic}


def drops(proxy: Proxy, broker: int) -> list[Request]:
    """Return the requests that the proxy saw for a replica list of one or two, without the broker."""
    return [
        request
        for request in proxy.write_requests()
        if request.is_reassignment
        for topic in request.decode().topics
        for partition in topic.partitions
        if partition.replicas and len(partition.replicas) < 3 and broker not in partition.replicas
    ]


class CleanerCluster:
    """A cluster with Byteman, a Prometheus JMX exporter and Jolokia in each broker; a context manager.

    Agents' ports are ``base + broker id``, so that one URL template fits all brokers.

    Args:
        version: of Kafka.
        brokers: how many.
        properties: for every broker.
        exporters: by broker id, the file with the rules of its JMX exporter, instead of the lab's.
        jvm_args: by node id, added to the JVM's arguments.
        log_dirs: per broker.
        listeners: client listeners, as of Cluster.
        users: as of Cluster.
        super_users: as of Cluster.
    """

    def __init__(
        self,
        version: str,
        brokers: int = 3,
        properties: Mapping[str, object] | None = None,
        *,
        log_dirs: int = 1,
        listeners: Sequence[str] = ("PLAINTEXT",),
        users: Mapping[str, str] | None = None,
        super_users: Sequence[str] | None = None,
        exporters: Mapping[int, Path] | None = None,
        jvm_args: Mapping[int, Sequence[str]] | None = None,
    ) -> None:
        self._directory = WorkDir(default_base())
        self._ports = HeldPorts()
        self._exporter_base, self._jolokia_base = (self._take(brokers) for _agent in range(2))
        script = self._script(version)
        self._exporter = self._directory.path / "exporter.yml"
        self._exporter.write_text(_EXPORTER, encoding="utf-8")
        rules = {**dict.fromkeys(range(1, brokers + 1), self._exporter), **(exporters or {})}
        more = dict(jvm_args or {})
        byteman, jmx, jolokia = map(jars.artifact, (versions.BYTEMAN, versions.JMX_EXPORTER, versions.JOLOKIA))
        self.cluster = Cluster(
            version,
            brokers,
            properties={**SMALL, **(properties or {})},
            jvm_args=more
            | {
                broker: [
                    *more.get(broker, ()),
                    f"-Dlab.switch={self._switch(broker)}",
                    f"-javaagent:{byteman}=script:{script}",
                    f"-javaagent:{jmx}=127.0.0.1:{self._exporter_base + broker}:{rules[broker]}",
                    f"-javaagent:{jolokia}=host=127.0.0.1,port={self._jolokia_base + broker}",
                ]
                for broker in range(1, brokers + 1)
            },
            log_dirs=log_dirs,
            listeners=listeners,
            users=users,
            super_users=super_users,
            proxied=True,
        )

    def __enter__(self) -> CleanerCluster:
        try:
            self.cluster.start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_failure: object) -> None:
        self.cluster.stop()
        self._ports.release()
        self._directory.remove()

    def exporter_address(self, broker: int) -> str:
        """Return the address of a broker's JMX exporter, in Prometheus' format."""
        return f"127.0.0.1:{self._exporter_base + broker}"

    @property
    def proxy(self) -> Proxy:
        """Return the proxy that records requests to the brokers' listeners and injects faults."""
        return self.cluster.proxy

    @property
    def prometheus_url(self) -> str:
        """Return the template of the exporters' URLs."""
        return f"http://{{host}}:{self._exporter_base // 10}{{broker_id}}/metrics"

    @property
    def jolokia_url(self) -> str:
        """Return the template of Jolokia's URLs."""
        return f"http://{{host}}:{self._jolokia_base // 10}{{broker_id}}/jolokia"

    @contextmanager
    def without_mbean(self, mbean: str) -> Iterator[None]:
        """Remove an MBean from the exporters' rules, as an operator's rules may do."""
        # An exporter reads its rules again when their file is newer.
        self._exporter.write_text(f"excludeObjectNames: ['{mbean}']\n{_EXPORTER}", encoding="utf-8")
        try:
            yield
        finally:
            self._exporter.write_text(_EXPORTER, encoding="utf-8")

    def kill_threads(self, broker: int) -> None:
        """End every cleaner thread of a broker by an error in its loop. Threads that are started later live."""
        self._until_logged(broker, ".kill", "killed by the lab")
        self._switch(broker, ".kill").unlink()

    def hang_threads(self, broker: int) -> None:
        """Block every cleaner thread of a broker. The broker cannot shut down until they are released."""
        self._until_logged(broker, ".hang", "hung by the lab")

    def heal(self) -> None:
        """Release every thread, and restore the initial state of the cluster."""
        for broker in self.cluster.brokers:
            self.release_threads(broker)
        heal(self.cluster)

    def release_threads(self, broker: int) -> None:
        """Release blocked threads. They continue when the metrics are read next, and new threads run."""
        for switch in (".kill", ".hang"):
            self._switch(broker, switch).unlink(missing_ok=True)

    def create(self, topic: str, replicas: Sequence[int], config: Mapping[str, object] | None = None) -> None:
        """Create a compacted topic of one partition. It is not compacted before ``compact`` is called."""
        paused = {"min.compaction.lag.ms": 3_600_000}
        self.cluster.client.create_topic(topic, {0: replicas}, {**COMPACTED, **paused, **(config or {})})

    def compact(self, topic: str) -> None:
        """Let a topic be compacted from now on."""
        entry = ConfigEntry("min.compaction.lag.ms", "0", incremental_operation=AlterConfigOpType.SET)
        resource = ConfigResource(ConfigResource.Type.TOPIC, topic, incremental_configs=[entry])
        self.admin.incremental_alter_configs([resource])[resource].result(30)

    def write(self, topic: str, mib: int = 3, *, keys: int = 50) -> None:
        """Write records of few keys: about ``mib`` segments, of which all but the active one can be compacted."""
        value = b"v" * 10_000
        for number in range(mib * 105):
            self._producer.produce(topic, key=f"key-{number % keys}".encode(), value=value)
            self._producer.poll(0)
        left = self._producer.flush(60)
        if left:
            raise RuntimeError(f"{topic}: {left} records were not written.")

    def segments(self, topic: str, broker: int) -> list[Path]:
        """Return the segments of partition 0 on a broker's disk, oldest first."""
        log_dirs = self.cluster.brokers[broker].data_dirs
        return sorted(path for log_dir in log_dirs for path in log_dir.glob(f"{topic}-0/*.log"))

    def size(self, topic: str, broker: int) -> int:
        """Return the bytes in the segments of partition 0 on a broker's disk."""
        while True:
            # A cleaner may replace a segment after it was listed.
            with suppress(FileNotFoundError):
                return sum(path.stat().st_size for path in self.segments(topic, broker))

    def damage(self, topic: str, broker: int) -> None:
        """Overwrite the header of the second batch in partition 0's oldest segment, or of the first if it is alone."""
        oldest = next(path for path in self.segments(topic, broker) if path.stat().st_size)
        with oldest.open("r+b") as file:
            (length,) = struct.unpack(">i", file.read(12)[8:])
            second = 12 + length
            file.seek((second if second < oldest.stat().st_size else 0) + 8)
            file.write(struct.pack(">iib", 3, 0, 0x7F))

    def assert_in_sync(self, topic: str, replicas: Sequence[int], leader: int | None = None) -> None:
        """Wait until partition 0 has this order, every replica in sync, and the given leader."""

        def in_sync() -> bool:
            state = self.cluster.client.describe(topic)[0]
            return sorted(state.isr) == sorted(state.replicas)

        wait_until(in_sync, 60, what=f"all replicas of {topic} are in sync")
        state = self.cluster.client.describe(topic)[0]
        assert (*state.replicas,) == (*replicas,), state
        assert leader in (None, state.leader), state

    def drops(self, broker: int) -> list[Request]:
        """See ``drops``."""
        return drops(self.cluster.proxy, broker)

    def damaged(
        self, topic: str, replicas: Sequence[int], *brokers: int, config: Mapping[str, object] | None = None
    ) -> None:
        """Create a compacted topic whose copies on some brokers are damaged and marked as uncleanable."""
        self.create(topic, replicas, config)
        self.write(topic)
        wait_until(
            lambda: len({self.size(topic, each) for each in replicas}) == 1, what=f"all copies of {topic} are written"
        )
        for broker in brokers:
            self.damage(topic, broker)
        self.compact(topic)
        logs = [self.cluster.brokers[broker].log_path for broker in brokers]
        said = f"({topic}-0) as uncleanable"
        wait_until(
            lambda: all(said in log.read_text(errors="replace") for log in logs), 60, what=f"{topic}-0 is marked"
        )

    @cached_property
    def admin(self) -> AdminClient:
        """Return a client that is not the code under test."""
        return AdminClient({"bootstrap.servers": self.cluster.bootstrap(settings.INTERNAL), "log_level": 0})

    @cached_property
    def _producer(self) -> Producer:
        return Producer(
            {
                "bootstrap.servers": self.cluster.bootstrap(settings.INTERNAL),
                "linger.ms": 5,
                "log_level": 0,
                "batch.size": 65536,
            }
        )

    def _take(self, brokers: int) -> int:
        """Reserve ports that differ in their last digit only, which is the broker's id."""
        while True:
            base = self._ports.take() // 10 * 10
            try:
                for broker in range(1, brokers + 1):
                    self._ports.take_port(base + broker)
            except OSError:
                continue
            return base

    def _script(self, version: str) -> Path:
        thread = _CLEANERS[version.startswith(("3.", "4.0."))]
        script = self._directory.path / "cleaner.btm"
        script.write_text(_RULES.format(thread=thread, cleaner=thread.partition("$")[0]), encoding="utf-8")
        return script

    def _switch(self, broker: int, what: str = "") -> Path:
        return self._directory.path / f"broker-{broker}{what}"

    def _until_logged(self, broker: int, switch: str, text: str) -> None:
        log = self.cluster.brokers[broker].log_path
        before = log.read_bytes().count(text.encode())
        self._switch(broker, switch).touch()
        wait_until(lambda: log.read_bytes().count(text.encode()) > before, 60, what=f"broker {broker} logs {text!r}")


@dataclass(frozen=True)
class CleanerOperator:
    """An operator on a separate host who runs the log cleaner modules, each in its own process."""

    lab: CleanerCluster
    account: Account | None = None
    """The user of these processes; None for the user of the tests."""

    def start(self, module: str, *, check_mode: bool = False, **options: object) -> subprocess.Popen[str]:
        """Start a module. Given options override the defaults, and None removes a default."""
        given = {
            "bootstrap_servers": [self.lab.cluster.bootstrap()],
            "request_timeout_ms": 15_000,
            "metrics_source": "prometheus",
            "metrics_url": self.lab.prometheus_url,
            "metrics_timeout_ms": 30_000,
            "suspect_bytes": 500_000,
            **options,
        }
        return start_module(module, given, check_mode=check_mode, account=self.account)

    def run(self, module: str, *, check_mode: bool = False, **options: object) -> dict[str, Any]:
        """Run a module to its end, and return its results."""
        return results(self.start(module, check_mode=check_mode, **options))

    def is_healthy(self, *brokers: int) -> bool:
        """Return whether these brokers (default: all) are all diagnosed and none needs a repair."""
        wanted = brokers or (*self.lab.cluster.brokers,)
        found = self.diagnoses(brokers=wanted)
        return found.keys() == {*wanted} and set(found.values()) <= WELL

    def assert_healthy(self, *brokers: int) -> None:
        """See ``is_healthy``."""
        assert self.is_healthy(*brokers), self.diagnoses()

    def diagnoses(self, **options: Any) -> dict[int, str]:
        """Return the case of each broker, by log_cleaner_info."""
        reported = self.run("log_cleaner_info", **options)
        if "brokers" not in reported:
            raise RuntimeError(reported["msg"])
        return {each["broker_id"]: each["diagnosis"] for each in reported["brokers"]}
