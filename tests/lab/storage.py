# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What ``StorageTool format`` does, without one JVM per broker.

A broker of a cluster needs nothing but ``meta.properties`` in each log directory; a controller also needs the bootstrap
records (features, SCRAM users, voters), which Kafka's own StorageTool writes. What it wrote is copied the next time.
"""

from __future__ import annotations

import base64
import hashlib
import shutil
import subprocess
import tempfile
import uuid
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from lab import process
from lab.cache import cache_dir, exclusive

_FORMAT_TIMEOUT_S = 120
_QUIET = "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn"


class FormatError(RuntimeError):
    """StorageTool refused to format a controller; the message is its output."""


def random_uuid() -> str:
    """Return a Kafka Uuid: 22 URL-safe base64 characters, not starting with a dash (as Uuid.randomUuid avoids it)."""
    while True:
        text = base64.urlsafe_b64encode(uuid.uuid4().bytes).rstrip(b"=").decode()
        if not text.startswith("-"):
            return text


def format_broker(node_id: int, cluster_id: str, log_dirs: Sequence[Path]) -> None:
    """Write meta.properties (version 1, KIP-853's directory.id included) into each of a broker's log directories."""
    for log_dir in log_dirs:
        log_dir.mkdir(parents=True)
        _write_identity(node_id, cluster_id, log_dir)


def format_controller(
    class_path: Sequence[Path],
    cluster_id: str,
    properties_file: Path,
    options: Sequence[str] = (),
    *,
    jvm_args: Sequence[str] = (),
) -> None:
    """Run ``StorageTool format`` for a controller. Raises FormatError."""
    arguments = ["format", "--cluster-id", cluster_id, "--config", str(properties_file), *options]
    command = process.java_command(
        class_path, "kafka.tools.StorageTool", *arguments, heap="128m", jvm_args=[_QUIET, *jvm_args]
    )
    result = subprocess.run(
        command, capture_output=True, text=True, timeout=_FORMAT_TIMEOUT_S, check=False, stdin=subprocess.DEVNULL
    )
    if result.returncode != 0:
        raise FormatError(f"StorageTool format failed for {properties_file}:\n{result.stdout}{result.stderr}")


def copy_formatted_controller(
    node_id: int, cluster_id: str, data_dir: Path, key: Sequence[object], format_it: Callable[[], None]
) -> None:
    """Create the formatted directory ``data_dir``, from the cache if it has ``key``; this saves a JVM.

    Args:
        node_id: the controller's.
        cluster_id: the cluster's.
        data_dir: must not exist yet.
        key: all that the bootstrap records depend on: the release and StorageTool's options. They depend neither on the
            cluster's id nor on the node's, and must name no port (a dynamic quorum's first voters do).
        format_it: formats ``data_dir`` where the cache has nothing for the key.
    """
    name = hashlib.sha256("\n".join(map(str, key)).encode()).hexdigest()[:16]
    cached = cache_dir() / "formatted" / name
    if not cached.is_dir():
        with exclusive(f"formatted-{name}"):
            if not cached.is_dir():
                format_it()
                cached.parent.mkdir(exist_ok=True)
                scratch = Path(tempfile.mkdtemp(dir=cached.parent, prefix=".copying-"))
                shutil.copytree(data_dir, scratch, dirs_exist_ok=True)
                scratch.rename(cached)
                return
    shutil.copytree(cached, data_dir)
    _write_identity(node_id, cluster_id, data_dir)


def write_properties(path: Path, properties: Mapping[str, object]) -> None:
    """Write a Java properties file; values are taken literally."""
    lines = (f"{key}={str(value).replace(chr(92), chr(92) * 2)}\n" for key, value in properties.items())
    path.write_text("".join(lines), encoding="utf-8")


def _write_identity(node_id: int, cluster_id: str, log_dir: Path) -> None:
    properties = {"version": 1, "cluster.id": cluster_id, "node.id": node_id, "directory.id": random_uuid()}
    write_properties(log_dir / "meta.properties", properties)
