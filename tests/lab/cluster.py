# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A real KRaft cluster on loopback."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from kafka.protocol.admin import DescribeQuorumRequest, DescribeQuorumResponse

from lab import jars, process, settings, shared_classes, storage, versions, wire
from lab.client import Client
from lab.node import Broker, Controller, Node, NodeError, each
from lab.ports import HeldPorts
from lab.proxy import Proxy, ProxyListener
from lab.tls import Certificates
from lab.work_dir import WorkDir, default_base

_FIRST_CONTROLLER_ID = 101
_LOGGING = (
    "-Dorg.slf4j.simpleLogger.showDateTime=true",
    "-Dorg.slf4j.simpleLogger.dateTimeFormat=HH:mm:ss.SSS",
)


class Cluster:
    """Brokers and dedicated controllers of one Kafka version; a context manager that starts and stops them.

    Nothing is left running, whatever fails: nodes die with this process, even when it is killed.

    Args:
        version: one of ``lab.versions.KAFKA``.
        brokers: how many (ids from 1), or their ids.
        controllers: how many (ids from 101), or their ids.
        properties: for every broker; ``broker_properties`` (by node id) win over them.
        controller_properties: for every controller.
        jvm_args: by node id, added to the JVM's arguments (agents, -D).
        heap: -Xmx of each JVM; "1g" for 3,000 partitions a broker.
        log_dirs: log directories per broker.
        listeners: client listeners, named after their security protocol.
        users: names and passwords, on the SASL listeners; "alice" with "alice-secret" unless given.
        tls_server: the certificate that brokers present: "valid", "wrong_host" or "expired".
        tls_client_auth: whether the SSL listener wants a client certificate: "none", "requested" or "required".
        super_users: if given, even empty, ACLs are enforced and these users pass. So does everybody on a listener
            without authentication, as the nodes do.
        dynamic_quorum: kraft.version 1 (KIP-853) instead of static voters.
        features: levels of Kafka's features, such as {"eligible.leader.replicas.version": 0}, instead of the release's.
        proxied: put a recording proxy (``self.proxy``) in front of the PLAINTEXT and SASL_PLAINTEXT listeners, and
            advertise it.
        host: the loopback address to use, "::1" for IPv6.
        start_timeout: seconds in which nodes must be ready.
        base_dir: where the cluster's own directory is made, instead of ``lab.work_dir.default_base()``.
        share_classes: start from an archive of loaded classes; the first cluster of a version makes it, in some 15 s.
    """

    def __init__(
        self,
        version: str = versions.DEFAULT,
        brokers: int | Sequence[int] = 3,
        controllers: int | Sequence[int] = 1,
        *,
        properties: Mapping[str, object] | None = None,
        broker_properties: Mapping[int, Mapping[str, object]] | None = None,
        controller_properties: Mapping[str, object] | None = None,
        jvm_args: Mapping[int, Sequence[str]] | None = None,
        heap: str = "256m",
        log_dirs: int = 1,
        listeners: Sequence[str] = ("PLAINTEXT",),
        users: Mapping[str, str] | None = None,
        tls_server: str = "valid",
        tls_client_auth: str = "none",
        super_users: Sequence[str] | None = None,
        dynamic_quorum: bool = False,
        features: Mapping[str, int] | None = None,
        proxied: bool = False,
        host: str = "127.0.0.1",
        start_timeout: float = 120.0,
        base_dir: Path | None = None,
        share_classes: bool = True,
    ) -> None:
        self.version = versions.check(version)
        self.host = host
        self.start_timeout = start_timeout
        self.cluster_id = storage.random_uuid()
        self._broker_ids = _node_ids(brokers, 1)
        self._controller_ids = _node_ids(controllers, _FIRST_CONTROLLER_ID)
        self._properties = dict(properties or {})
        self._broker_properties = dict(broker_properties or {})
        self._controller_properties = dict(controller_properties or {})
        self._jvm_args = dict(jvm_args or {})
        self._heap = heap
        self._log_dirs = log_dirs
        self._listeners = tuple(listeners)
        self._base_dir = base_dir or default_base()
        self._users = dict(users or {"alice": "alice-secret"})
        self._tls_server = tls_server
        self._tls_client_auth = tls_client_auth
        self._super_users = super_users
        self._dynamic_quorum = dynamic_quorum
        self._features = dict(features or {})
        self._proxied = proxied
        self._share_classes = share_classes
        self._directory_ids = {node_id: storage.random_uuid() for node_id in self._controller_ids}
        self._ports = HeldPorts(host)
        self.brokers: dict[int, Broker] = {}
        self.controllers: dict[int, Controller] = {}

    def __enter__(self) -> Cluster:
        self.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self.stop()

    @cached_property
    def proxy(self) -> Proxy:
        """Return the proxy that records requests to the proxied listeners and injects faults."""
        return Proxy()

    @cached_property
    def certificates(self) -> Certificates:
        """Return the certificates of the TLS listeners and of clients."""
        return Certificates(self.work_dir / "tls")

    @cached_property
    def client(self) -> Client:
        """Return the tests' oracle for this cluster."""
        return Client(self)

    @property
    def work_dir(self) -> Path:
        """Return the directory with logs, data and certificates of the started cluster."""
        return self._work_dir.path

    @property
    def nodes(self) -> list[Node]:
        """All nodes, controllers first."""
        return [*self.controllers.values(), *self.brokers.values()]

    @property
    def live_brokers(self) -> list[Broker]:
        """The brokers that run and are not frozen."""
        return [broker for broker in self.brokers.values() if broker.running and not broker.frozen]

    def active_controller(self) -> Controller:
        """Return the controller that leads the quorum, as a live broker says."""
        return self.controllers[self._describe_quorum().leader_id]

    def has_whole_quorum(self) -> bool:
        """Whether a controller leads, and every voter has fetched all that was committed."""
        try:
            quorum = self._describe_quorum()
        except OSError:
            return False
        ends = [each.log_end_offset for each in quorum.current_voters]
        return quorum.leader_id in self.controllers and min(ends) >= quorum.high_watermark

    def _describe_quorum(self) -> Any:
        broker = self.live_brokers[0]
        topic = DescribeQuorumRequest.TopicData
        request = DescribeQuorumRequest[0](
            topics=[topic(topic_name="__cluster_metadata", partitions=[topic.PartitionData(partition_index=0)])]
        )
        response = wire.ask(broker.host, broker.ports[settings.INTERNAL], request, DescribeQuorumResponse)
        return response.topics[0].partitions[0]

    @property
    def has_static_voters(self) -> bool:
        """Whether the voters are in every node's properties, and not in the metadata log (KIP-853)."""
        return not self._dynamic_quorum

    def bootstrap(self, listener: str | None = None) -> str:
        """Return the bootstrap servers of a listener, by default the first client listener, as clients see it."""
        name = listener or self._listeners[0]
        return ",".join(settings.address(self.host, broker.advertised_port(name)) for broker in self.brokers.values())

    def start(self) -> None:
        """Format and start all nodes; returns when every broker is unfenced. Stops everything if anything fails."""
        self.class_path = jars.kafka(self.version)
        self._class_archive = shared_classes.archive(self.class_path, self._train) if self._share_classes else None
        self._work_dir = WorkDir(self._base_dir)
        try:
            self._create_nodes()
            each(_format_and_start, self.nodes)
            each(_wait_ready, self.nodes)
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """SIGKILL every node, frozen ones included, and remove everything the cluster wrote."""
        for node in self.nodes:
            node.kill()
        self._ports.release()
        self._work_dir.remove()

    def java_command(self, jvm_args: Sequence[str], properties_file: Path, version: str = "") -> list[str]:
        """Return the command that runs a node, of another release than the cluster's if one is given."""
        is_other = version not in {"", self.version}
        every_node = [*_LOGGING, *([] if is_other else self.sharing())]
        class_path = jars.kafka(version) if is_other else self.class_path
        return process.java_command(
            class_path, "kafka.Kafka", str(properties_file), heap=self._heap, jvm_args=[*every_node, *jvm_args]
        )

    def sharing(self) -> list[str]:
        """Return the JVM arguments that make use of the class archive."""
        return shared_classes.use(self._class_archive)

    def format_options(self, *, rejoining: bool) -> list[str]:
        """Return StorageTool's options for a controller; ``rejoining`` if it was formatted before."""
        options = settings.add_scram(self._users) if self._has("SASL_") else []
        options += [part for name, level in self._features.items() for part in ("--feature", f"{name}={level}")]
        if not self._dynamic_quorum:
            return options
        if rejoining:
            return ["--no-initial-controllers", *options]
        voters = settings.initial_controllers(self._controller_addresses(), self._directory_ids)
        return ["--initial-controllers", voters, *options]

    def _train(self, archive: Path) -> None:
        """Let a broker create the class archive: until its exit, it loads all classes of brokers and controllers."""
        recorded = {1: shared_classes.record(archive)}
        with Cluster(self.version, brokers=1, jvm_args=recorded, share_classes=False) as cluster:
            cluster.client.create_topic("any", {0: [1]})
            cluster.client.produce("any", 0, 1)
            cluster.brokers[1].stop(timeout=self.start_timeout)

    def _has(self, protocol: str) -> bool:
        """Whether a client listener's security protocol has this in its name."""
        return any(protocol in listener for listener in self._listeners)

    def _controller_addresses(self) -> dict[int, str]:
        return {node_id: settings.address(self.host, port) for node_id, port in self._controller_ports.items()}

    def _create_nodes(self) -> None:
        self._controller_ports = {node_id: self._ports.take() for node_id in self._controller_ids}
        shared = settings.quorum(self._controller_addresses(), dynamic=self._dynamic_quorum)
        if self._super_users is not None:
            shared |= settings.authorizer(self._super_users)
        for node_id in self._controller_ids:
            self.controllers[node_id] = self._create_controller(node_id, shared)
        shared |= self._security()
        for node_id in self._broker_ids:
            self.brokers[node_id] = self._create_broker(node_id, shared)

    def _security(self) -> dict[str, object]:
        """Return the brokers' properties for TLS and SASL."""
        properties: dict[str, object] = {}
        if self._has("SSL"):
            server = self.certificates.server(self._tls_server)
            properties |= settings.tls(server, self.certificates.ca, self._tls_client_auth)
        if self._has("SASL_"):
            properties |= settings.sasl(self._listeners, self._users)
        return properties

    def _create_controller(self, node_id: int, shared: Mapping[str, object]) -> Controller:
        port = self._controller_ports[node_id]
        data_dir = self.work_dir / f"controller-{node_id}"
        own = settings.controller(node_id, settings.address(self.host, port), data_dir)
        return Controller(
            self,
            node_id,
            ports={"CONTROLLER": port},
            properties={**own, **shared, **self._controller_properties},
            jvm_args=self._jvm_args.get(node_id, ()),
            data_dirs=[data_dir],
        )

    def _create_broker(self, node_id: int, shared: Mapping[str, object]) -> Broker:
        ports = {name: self._ports.take() for name in (*self._listeners, settings.INTERNAL)}
        proxies = {name: self._create_proxy(node_id, port) for name, port in ports.items() if self._is_proxied(name)}
        data_dirs = [self.work_dir / f"broker-{node_id}-{number}" for number in range(self._log_dirs)]
        own = settings.broker(
            node_id,
            {name: settings.address(self.host, port) for name, port in ports.items()},
            {
                name: settings.address(self.host, proxies[name].port if name in proxies else port)
                for name, port in ports.items()
            },
            data_dirs,
            len(self._broker_ids),
        )
        return Broker(
            self,
            node_id,
            ports=ports,
            properties={**own, **shared, **self._properties, **self._broker_properties.get(node_id, {})},
            jvm_args=self._jvm_args.get(node_id, ()),
            data_dirs=data_dirs,
            proxies=proxies,
        )

    def _is_proxied(self, listener: str) -> bool:
        return self._proxied and listener in settings.READABLE_PROTOCOLS

    def _create_proxy(self, node_id: int, port: int) -> ProxyListener:
        return ProxyListener(self.proxy, node_id, (self.host, self._ports.take()), (self.host, port))


def _format_and_start(node: Node) -> None:
    node.format()
    node.start(wait=False)


def _wait_ready(node: Node) -> None:
    """Wait until a node is ready, and start it once more if it ends before that.

    On a busy machine, a broker sometimes does not register within initial.broker.registration.timeout.ms, which are
    60 s, and ends.
    """
    try:
        node.wait_ready()
    except NodeError:
        if node.running:
            raise
        node.start()


def _node_ids(nodes: int | Sequence[int], first: int) -> tuple[int, ...]:
    return tuple(range(first, first + nodes)) if isinstance(nodes, int) else tuple(nodes)
