# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Runs that hold the lock of a cluster, each in its own process, so that tests can freeze and kill them."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from ansible_collections.kafkaops.recovery.plugins.module_utils._changes.cluster_journal import ClusterJournal
from ansible_collections.kafkaops.recovery.plugins.module_utils._changes.journal_reader import JournalOptions
from ansible_collections.kafkaops.recovery.plugins.module_utils._changes.record import Change, OrderChange
from ansible_collections.kafkaops.recovery.plugins.module_utils._changes.run_topic import RUN_TOPIC
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.port import Kafka
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.settings import settings_from
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.wire import Wire
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import TopicPartition
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.run import NullProgress
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.designations import plan_from_designations
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.election_run import (
    ElectionOptions,
    ElectionReport,
    run_elections,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.observation import plan_drops
from lab.cluster import Cluster
from lab.module_process import Account

TOPIC_ID = "EjRWeJq83vASNFZ4mrze8A"


def a_change(number: int = 0) -> OrderChange:
    """Return a change that a run might have recorded."""
    return OrderChange("orders", number, TOPIC_ID, (1, 2, 3), (3, 1, 2))


@contextmanager
def cluster_journal(
    bootstrap: str,
    *,
    topic: str = RUN_TOPIC,
    discard_lost: bool = False,
    request_timeout_ms: int = 3000,
    **settings: object,
) -> Iterator[ClusterJournal]:
    """Open the journal of a cluster with the code under test, after a check of the brokers as in a module."""
    options = JournalOptions(topic=topic, discard_lost=discard_lost)
    given = {"bootstrap_servers": bootstrap, "request_timeout_ms": request_timeout_ms, **settings}
    with Wire(settings_from(given)) as wire:
        kafka = Kafka(wire)
        cluster = kafka.describe_cluster()
        yield ClusterJournal(kafka, cluster, options, kafka.probe_brokers(cluster))


def pending_changes(cluster: Cluster) -> tuple[Change, ...]:
    """Return the changes that the cluster's journal holds."""
    with cluster_journal(cluster.bootstrap()) as lock:
        return lock.read().changes


@dataclass
class Run:
    """A run in its own process that holds the lock and executes commands of the test."""

    process: subprocess.Popen[str]

    @classmethod
    def start(cls, cluster: Cluster) -> Run:
        """Start a run and take the lock."""
        code = f"""
            import os, sys
            from lab.changes import a_change, cluster_journal
            with cluster_journal({cluster.bootstrap()!r}) as lock, lock.open() as journal:
                print("held", flush=True)
                for line in sys.stdin:
                    try:
                        if line.strip() == "begin":
                            journal.begin([a_change()])
                        elif line.strip() == "end":
                            journal.end(journal.pending, "test")
                        else:
                            journal.require_lock()
                        print("done", flush=True)
                    except Exception as error:
                        print(f"{{type(error).__name__}}: {{error}}", flush=True)
        """
        python_path = os.pathsep.join(path for path in sys.path if path)
        process = subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(code)],
            env={**os.environ, "PYTHONPATH": python_path},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        run = cls(process)
        found = run.read()
        if found != "held":
            raise RuntimeError(f"the run did not take the lock: {found}")
        return run

    def read(self) -> str:
        """Return the next line of the run."""
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def do(self, what: str) -> str:
        """Let the run ``begin``, ``end`` or ``check``, and return its answer."""
        assert self.process.stdin is not None
        self.process.stdin.write(what + "\n")
        self.process.stdin.flush()
        return self.read()

    def signal(self, number: int) -> None:
        """Send a signal to the run alone."""
        self.process.send_signal(number)

    def end(self) -> None:
        """Let the run end cleanly, or kill it if it does not end."""
        try:
            self.process.communicate(timeout=30)
        finally:
            self.process.kill()
            self.process.wait()


def elect(
    bootstrap: str,
    topic: str,
    partitions: int | range,
    leader: int,
    *,
    may_drop: bool = False,
) -> ElectionReport:
    """Elect one broker as leader of partitions of a topic, as the module does, but in this process."""
    settings = settings_from({"bootstrap_servers": bootstrap, "request_timeout_ms": 3000})
    numbers = range(partitions) if isinstance(partitions, int) else partitions
    options = ElectionOptions(journal=JournalOptions(), attempts=3, verify_timeout_ms=20_000, check_mode=False)
    with Wire(settings) as wire:
        kafka = Kafka(wire)
        plan = plan_from_designations(kafka, {TopicPartition(topic, each): leader for each in numbers})
        plan = plan_drops(kafka, plan, may_drop=may_drop)
        brokers = kafka.probe_brokers(kafka.describe_cluster())
        return run_elections(kafka, plan, options, NullProgress(), threading.Event(), brokers)


def elect_in_process(
    bootstrap: str,
    topic: str,
    partitions: int | range,
    leader: int,
    home: Path,
    *,
    may_drop: bool = False,
    user_id: int = 2001,
    errors: int | None = None,
) -> subprocess.Popen[bytes]:
    """Start ``elect`` in its own process, as another user with its own home directory.

    ``errors`` is where its stderr goes, as Popen takes it.
    """
    code = (
        f"from lab.changes import elect; elect({bootstrap!r}, {topic!r}, {partitions}, {leader}, may_drop={may_drop})"
    )
    python_path = os.pathsep.join(path for path in sys.path if path)
    account = Account(user_id, home)
    return subprocess.Popen(
        [*account.command, sys.executable, "-c", code],
        env={**account.environment, "PYTHONPATH": python_path},
        stderr=errors,
    )
