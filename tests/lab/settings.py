# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The properties of a node: pure functions that return the content of server.properties."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

INTERNAL = "INTERNAL"
"""Listener of replication and of the tests' oracles: plaintext, never proxied, and without faults."""

PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
"""Client listeners are named after their security protocol."""

_DEFAULTS = {
    # Failures are noticed in seconds.
    "broker.session.timeout.ms": 3000,
    "broker.heartbeat.interval.ms": 500,
    "replica.lag.time.max.ms": 3000,
    # Only tests move leaders.
    "auto.leader.rebalance.enable": "false",
    "group.initial.rebalance.delay.ms": 0,
    # Small: the default buffer of the log cleaner alone is half of a small heap, and indexes are mapped per partition.
    "log.cleaner.dedupe.buffer.size": 4 * 1024 * 1024,
    "log.index.size.max.bytes": 1024 * 1024,
    "num.network.threads": 2,
    "num.io.threads": 4,
}


READABLE_PROTOCOLS = ("PLAINTEXT", "SASL_PLAINTEXT")
"""Protocols whose requests a proxy can read."""

SASL_MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER")
"""Every SASL listener offers all of them; OAUTHBEARER takes unsecured tokens."""

_SCRAM = tuple(mechanism for mechanism in SASL_MECHANISMS if mechanism.startswith("SCRAM"))
_SECURITY = "org.apache.kafka.common.security"
_UNQUOTABLE = '",\\[]'
"""Characters that StorageTool --add-scram or JAAS does not accept in a name or password, even in quotation marks."""
_ANONYMOUS = "User:ANONYMOUS"


def address(host: str, port: int) -> str:
    """Return ``host:port``, an IPv6 address in brackets."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def quorum(controllers: Mapping[int, str], *, dynamic: bool) -> dict[str, object]:
    """Return the properties by which nodes find the controllers: static voters, or bootstrap servers (KIP-853)."""
    if dynamic:
        return {"controller.quorum.bootstrap.servers": ",".join(controllers.values())}
    voters = (f"{node_id}@{where}" for node_id, where in controllers.items())
    return {"controller.quorum.voters": ",".join(voters)}


def initial_controllers(controllers: Mapping[int, str], directory_ids: Mapping[int, str]) -> str:
    """Return StorageTool's --initial-controllers: the first voters of a dynamic quorum, with their directory ids."""
    return ",".join(f"{node_id}@{where}:{directory_ids[node_id]}" for node_id, where in controllers.items())


def controller(node_id: int, where: str, data_dir: Path) -> dict[str, object]:
    """Return the properties of a controller."""
    return {
        **_DEFAULTS,
        "process.roles": "controller",
        "node.id": node_id,
        "controller.listener.names": "CONTROLLER",
        "listeners": f"CONTROLLER://{where}",
        "log.dirs": data_dir,
    }


def broker(
    node_id: int, listeners: Mapping[str, str], advertised: Mapping[str, str], data_dirs: Sequence[Path], brokers: int
) -> dict[str, object]:
    """Return the properties of a broker; ``listeners`` and ``advertised`` map a listener's name to an address."""
    protocols = {name: name if name in PROTOCOLS else "PLAINTEXT" for name in listeners}
    copies = min(3, brokers)
    return {
        **_DEFAULTS,
        "process.roles": "broker",
        "node.id": node_id,
        "controller.listener.names": "CONTROLLER",
        "listeners": ",".join(f"{name}://{where}" for name, where in listeners.items()),
        "advertised.listeners": ",".join(f"{name}://{where}" for name, where in advertised.items()),
        "listener.security.protocol.map": ",".join(
            f"{name}:{protocol}" for name, protocol in {**protocols, "CONTROLLER": "PLAINTEXT"}.items()
        ),
        "inter.broker.listener.name": INTERNAL,
        "log.dirs": ",".join(map(str, data_dirs)),
        "offsets.topic.replication.factor": copies,
        "transaction.state.log.replication.factor": copies,
        "transaction.state.log.min.isr": 1,
        "share.coordinator.state.topic.replication.factor": copies,
        "share.coordinator.state.topic.min.isr": 1,
    }


def tls(server: Path, ca: Path, client_auth: str) -> dict[str, object]:
    """Return the properties of SSL and SASL_SSL listeners; ``client_auth`` (none, requested, required) is for SSL."""
    return {
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": server,
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": ca,
        "listener.name.ssl.ssl.client.auth": client_auth,
    }


def sasl(listeners: Sequence[str], users: Mapping[str, str]) -> dict[str, object]:
    """Return the SASL set-up of those of the listeners that have one; ``users`` maps names to passwords."""
    plain_users = "".join(f" {_quoted(f'user_{name}')}={_quoted(password)}" for name, password in users.items())
    jaas = {
        "PLAIN": f"{_SECURITY}.plain.PlainLoginModule required{plain_users};",
        **dict.fromkeys(_SCRAM, f"{_SECURITY}.scram.ScramLoginModule required;"),
        "OAUTHBEARER": f'{_SECURITY}.oauthbearer.OAuthBearerLoginModule required unsecuredLoginStringClaim_sub="lab";',
    }
    properties: dict[str, object] = {"sasl.enabled.mechanisms": ",".join(SASL_MECHANISMS)}
    for listener in listeners:
        if listener.startswith("SASL_"):
            prefix = f"listener.name.{listener.lower()}"
            for mechanism in SASL_MECHANISMS:
                properties[f"{prefix}.{mechanism.lower()}.sasl.jaas.config"] = jaas[mechanism]
    return properties


def add_scram(users: Mapping[str, str]) -> list[str]:
    """Return the options that make StorageTool write SCRAM credentials into the bootstrap records (KIP-900)."""
    return [
        option
        for name, password in users.items()
        for mechanism in _SCRAM
        for option in ("--add-scram", f"{mechanism}=[name={_quoted(name)},password={_quoted(password)}]")
    ]


def authorizer(super_users: Sequence[str]) -> dict[str, object]:
    """Return the set-up of ACLs, for brokers and controllers alike.

    Whoever comes over a listener without authentication is a super user: the nodes themselves have to be.
    """
    return {
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": ";".join([_ANONYMOUS, *(f"User:{name}" for name in super_users)]),
    }


def _quoted(text: str) -> str:
    if set(text) & set(_UNQUOTABLE):
        raise ValueError(f"Names and passwords of the lab take none of {_UNQUOTABLE}")
    return f'"{text}"'
