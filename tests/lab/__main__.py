# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The lab's command line: ``python -m lab up``."""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
from pathlib import Path

from lab import background, jars, settings, versions
from lab.cluster import Cluster


def main(arguments: list[str] | None = None) -> int:
    """Run one command; returns the exit status."""
    options = _parser().parse_args(arguments)
    background.end_on_sigterm()
    try:
        return int(options.command(options))
    except KeyboardInterrupt:
        return 128 + signal.SIGINT


def _up(options: argparse.Namespace) -> int:
    """Run a cluster until Ctrl-C or SIGTERM."""
    with _cluster(options) as cluster:
        for listener in options.listeners:
            print(f"bootstrap servers ({listener}): {cluster.bootstrap(listener)}")
        for node in cluster.nodes:
            print(f"{node.role} {node.node_id}: pid {node.pid}, log {node.log_path}")
        print("Ctrl-C stops the cluster and removes its data.", flush=True)
        if options.state_file:
            _write_state(cluster, options)
        while True:
            signal.pause()


def _run(options: argparse.Namespace) -> int:
    """Run a command while a cluster is up, and return the command's exit status."""
    with _cluster(options) as cluster:
        environment = {**os.environ, "KAFKA_BOOTSTRAP_SERVERS": cluster.bootstrap()}
        return subprocess.run(options.argv, env=environment, check=False).returncode


def _versions(_options: argparse.Namespace) -> int:
    """List the versions the lab runs."""
    for version in versions.KAFKA:
        print(f"{version} (default)" if version == versions.DEFAULT else version)
    return 0


def _fetch(options: argparse.Namespace) -> int:
    """Fill the jar cache."""
    for version in options.version or versions.KAFKA:
        print(f"{version}: {len(jars.kafka(version))} jars in {jars.kafka(version)[0].parent}")
    return 0


def _cluster(options: argparse.Namespace) -> Cluster:
    return Cluster(
        options.version,
        brokers=options.brokers,
        controllers=options.controllers,
        heap=options.heap,
        listeners=options.listeners,
        properties=dict(text.split("=", 1) for text in options.property),
    )


def _write_state(cluster: Cluster, options: argparse.Namespace) -> None:
    state = {
        "bootstrap_servers": {listener: cluster.bootstrap(listener) for listener in options.listeners},
        "nodes": {node.node_id: {"role": node.role, "pid": node.pid} for node in cluster.nodes},
    }
    background.write_state(options.state_file, state)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m lab", description="A real Kafka cluster on loopback.")
    commands = parser.add_subparsers(required=True, metavar="command")

    cluster = argparse.ArgumentParser(add_help=False)
    cluster.add_argument("--version", choices=versions.KAFKA, default=versions.DEFAULT)
    cluster.add_argument("--brokers", type=int, default=3)
    cluster.add_argument("--controllers", type=int, default=1)
    cluster.add_argument("--heap", default="256m", help="of each JVM (default: %(default)s)")
    cluster.add_argument("--listeners", nargs="+", choices=settings.PROTOCOLS, default=["PLAINTEXT"])
    cluster.add_argument("--property", action="append", default=[], metavar="KEY=VALUE", help="for every broker")

    up = commands.add_parser("up", parents=[cluster], help="run a cluster until Ctrl-C")
    up.add_argument("--state-file", type=Path, help="JSON with bootstrap servers and pids, written when all is ready")
    up.set_defaults(command=_up)

    run = commands.add_parser(
        "run", parents=[cluster], help="run a command while a cluster is up; it gets KAFKA_BOOTSTRAP_SERVERS"
    )
    run.add_argument("argv", nargs="+", metavar="-- COMMAND")
    run.set_defaults(command=_run)

    fetch = commands.add_parser("fetch", help="fill the jar cache")
    fetch.add_argument("--version", choices=versions.KAFKA, action="append", help="default: all")
    fetch.set_defaults(command=_fetch)

    commands.add_parser("versions", help="list the versions the lab runs").set_defaults(command=_versions)
    return parser


if __name__ == "__main__":
    sys.exit(main())
