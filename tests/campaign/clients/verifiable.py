# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Kafka's own VerifiableProducer and VerifiableConsumer: a second client, whose events are read from its output."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from campaign.clients.history import Outcome, Read, Reader, Write
from lab import Cluster, jars, process, settings, wait_until

_PREFIX = 7
"""The values are 7.0, 7.1 and so on: no other client has such values."""
_RECORDS_PER_SECOND = 10
_START_S, _END_S = 60.0, 60.0
_NAME = "VerifiableConsumer"


@dataclass
class Verifiable:
    """Both tools on one topic; a context manager that starts and stops them."""

    cluster: Cluster
    topic: str
    directory: Path
    reader: Reader = field(default_factory=lambda: Reader(_NAME, False, may_repeat=True))
    _running: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    def __enter__(self) -> Verifiable:
        where = ("--bootstrap-server", self.cluster.bootstrap(settings.INTERNAL), "--topic", self.topic)
        self._start("VerifiableConsumer", *where, "--group-id", _NAME, "--reset-policy", "earliest", "--verbose")
        self._start(
            "VerifiableProducer",
            *(*where, "--throughput", str(_RECORDS_PER_SECOND), "--acks", "-1", "--value-prefix", str(_PREFIX)),
        )
        wait_until(lambda: self._count("producer_send_success"), _START_S, what="the VerifiableProducer writes")
        return self

    def __exit__(self, *_error: object) -> None:
        for name in [*self._running]:
            self._stop(name)

    def stop_writing(self) -> list[Write]:
        """Stop the producer, and return all its writes in its order, with their outcomes."""
        self._stop("VerifiableProducer")
        writes = []
        for event in self._events("VerifiableProducer"):
            if event["name"] == "producer_send_success":
                place = (str(event["topic"]), int(event["partition"]))
                writes.append(Write("VerifiableProducer", place, event["value"], Outcome.OK, int(event["offset"])))
        return writes

    def read(self) -> None:
        """Note what the consumer got until now. It gets a record again after each change of its group."""
        self.reader.reads = [
            Read((str(event["topic"]), int(event["partition"])), int(event["offset"]), event["value"])
            for event in self._events(_NAME)
            if event["name"] == "record_data"
        ]

    @property
    def is_reading(self) -> bool:
        """Whether the consumer still runs: one that ended has seen less than it could."""
        return _NAME in self._running and self._running[_NAME].poll() is None

    def _start(self, tool: str, *arguments: str) -> None:
        command = process.java_command(
            jars.tools(self.cluster.version), f"org.apache.kafka.tools.{tool}", *arguments, heap="128m"
        )
        self._running[tool] = process.spawn(command, self._output(tool))

    def _stop(self, tool: str) -> None:
        running = self._running.pop(tool, None)
        if running is None:
            return
        running.send_signal(signal.SIGTERM)
        with suppress(subprocess.TimeoutExpired):
            running.wait(_END_S)
        running.kill()
        running.wait()

    def _output(self, tool: str) -> Path:
        return self.directory / f"{tool}.json"

    def _count(self, name: str) -> int:
        return sum(event["name"] == name for event in self._events("VerifiableProducer"))

    def _events(self, tool: str) -> Iterator[dict[str, Any]]:
        """Yield the events. Other lines are of the log; the last line may not be complete yet."""
        for line in self._output(tool).read_text("utf-8").splitlines():
            with suppress(ValueError):
                event = json.loads(line)
                if isinstance(event, dict) and "name" in event:
                    yield event
