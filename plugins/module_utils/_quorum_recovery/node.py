# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Read a node's properties file, and the files beside its metadata log: whose it is, and how it voted."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from .._kafka.settings import split_list
from .._model.run import KafkaOpsError
from .copy import StaticVoter, Vote

with suppress(ImportError):  # a missing library is reported before the module starts (_module/run.py)
    import javaproperties

METADATA_DIR = "__cluster_metadata-0"
QUORUM_STATE = "quorum-state"
EPOCHS = "leader-epoch-checkpoint"
VOTERS = "controller.quorum.voters"
_DEFAULT_LOG_DIR = "/tmp/kafka-logs"  # Kafka's own default
_WILDCARDS = ("0.0.0.0", "::")


class NodeFileError(KafkaOpsError):
    """A file of a node cannot be used. The message names it, and says why."""


@dataclass(frozen=True, slots=True)
class NodeProperties:
    """What matters in a server.properties."""

    path: str
    log_dir: str
    """As it is written there."""
    node_id: int | None
    roles: tuple[str, ...]
    static_voters: tuple[StaticVoter, ...]
    advertised: tuple[StaticVoter, ...]
    """Where its controller listeners are reached."""
    listener_names: tuple[str, ...]
    """The names of these listeners, in the same order."""

    def require_log_dir(self) -> str:
        """Return the directory of the metadata log. Raises NodeFileError if only the node itself knows which it is.

        Taken for a path of this process, it would look like an empty disk, and its log would be forgotten. Kafka
        replaces placeholders in the middle of a path, too, such as Strimzi's ``/kafka-log${STRIMZI_BROKER_ID}``.
        """
        if os.path.isabs(self.log_dir) and "${" not in self.log_dir:
            return self.log_dir
        raise NodeFileError(
            f"{self.path}: the metadata log is in {self.log_dir!r} (metadata.log.dir, or the first of log.dirs), which "
            "is no whole path: only the node itself knows its working directory and its configuration providers. "
            "Write the whole path there"
        )


def read_properties(path: str) -> NodeProperties:
    """Read a server.properties. Raises NodeFileError."""
    try:
        content = javaproperties.load(io.BytesIO(Path(path).read_bytes()))
    except OSError as error:
        raise NodeFileError(f"{path} could not be read: {error.strerror}. Set quorum_recovery_properties") from None
    except ValueError as error:
        raise NodeFileError(f"{path} is no properties file: {error}") from None
    found = {name: value.strip() for name, value in content.items()}
    directories = found.get("log.dirs") or found.get("log.dir") or _DEFAULT_LOG_DIR
    node_id = found.get("node.id") or found.get("broker.id")
    if node_id is None:
        raise NodeFileError(f"{path} has no node.id: it is no properties file of a Kafka node")
    if not node_id.isdecimal():
        raise NodeFileError(
            f"{path}: node.id is {node_id!r}, and only the node itself knows the number. Write it there"
        )
    names = tuple(split_list(found.get("controller.listener.names", "")))
    endpoints = _listeners(found)
    return NodeProperties(
        path,
        found.get("metadata.log.dir") or next(iter(split_list(directories)), ""),
        int(node_id),
        tuple(split_list(found.get("process.roles", ""))),
        tuple(parse_voters(found.get(VOTERS, ""), path)),
        tuple(StaticVoter(int(node_id), *endpoints[name]) for name in names if name in endpoints),
        tuple(name for name in names if name in endpoints),
    )


def parse_voters(text: str, path: str) -> list[StaticVoter]:
    """Read a value of ``controller.quorum.voters``. Raises NodeFileError."""
    voters = []
    for each in split_list(text):
        number, _at, where = each.partition("@")
        try:
            voters.append(StaticVoter(int(number), *_host_and_port(where)))
        except ValueError:
            raise NodeFileError(f"{path}: {each!r} in {VOTERS} is not ID@HOST:PORT") from None
    return voters


def read_vote(metadata_dir: str) -> Vote | None:
    """Read ``quorum-state``. None if there is none. Raises NodeFileError."""
    path = Path(metadata_dir, QUORUM_STATE)
    try:
        found = json.loads(path.read_bytes())
        voters = tuple(int(each["voterId"]) for each in found.get("currentVoters") or ())
        return Vote(int(found["leaderId"]), int(found["leaderEpoch"]), int(found["votedId"]), voters)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise NodeFileError(f"{path} could not be read: {error.strerror}") from None
    except (ValueError, KeyError, TypeError, AttributeError):
        raise NodeFileError(f"{path} is not what Kafka writes there") from None


def _host_and_port(where: str) -> tuple[str, int]:
    """Read an address as Kafka does (``Utils.getHost``): IPv6 with or without brackets. Raises ValueError."""
    host, _colon, port = where.rpartition("://")[2].rpartition(":")
    if not host:
        raise ValueError(where)
    return host.strip("[]"), int(port)


def _listeners(found: Mapping[str, str]) -> dict[str, tuple[str, int]]:
    """Return host and port of each listener by its name: as advertised, or else as it listens."""
    endpoints = {}
    for key in ("listeners", "advertised.listeners"):
        for each in split_list(found.get(key, "")):
            name, _separator, where = each.partition("://")
            with suppress(ValueError):
                host, port = _host_and_port(where)
                if host not in _WILDCARDS:
                    endpoints[name.strip()] = (host, port)
    return endpoints
