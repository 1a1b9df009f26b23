# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Producers whose records are all known: which of them were acknowledged with acks=all."""

from __future__ import annotations

import random
import threading
import time
from collections import defaultdict
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from types import TracebackType
from typing import Any

from confluent_kafka import Producer

from lab import Cluster, settings

_TICK_S = 0.02
_STEADY_S = 0.1
_BURST_S = (1.5, 3.0)
_BURST = (10, 40)
_SILENT_AFTER_S = (4.0, 25.0)
_TIMEOUT_MS = 6_000
_SHARE_OF_ALL = {"steady": 0.2, "bursty": 0.5, "silent": 0.5}
"""Of all records, how many ask for acks=all. The others ask for acks=1: a leader that is alone takes them."""


class Pattern(StrEnum):
    """How a partition is written."""

    STEADY = "steady"
    BURSTY = "bursty"
    SILENT = "silent"
    """Steady, until it ends long before the outage."""


Partition = tuple[str, int]


@dataclass
class _Turn:
    at: float
    ends: float


class Writers:
    """Writes to all partitions until ``stop``; a context manager. Values are unique in the whole campaign."""

    def __init__(self, cluster: Cluster, partitions: Iterable[Partition], rng: random.Random) -> None:
        self.patterns: Mapping[Partition, Pattern] = {each: rng.choice([*Pattern]) for each in partitions}
        self.acknowledged: dict[Partition, set[str]] = defaultdict(set)
        """Values that a leader acknowledged with acks=all."""
        self._rng = random.Random(rng.random())
        common = {
            "bootstrap.servers": cluster.bootstrap(settings.INTERNAL),
            "log_level": 0,
            "linger.ms": 5,
            "message.timeout.ms": _TIMEOUT_MS,
            "topic.metadata.refresh.interval.ms": 1_000,
        }
        self._of_all = Producer({**common, "acks": "all"})
        self._of_one = Producer({**common, "acks": "1"})
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._written = 0

    def __enter__(self) -> Writers:
        self._thread.start()
        return self

    def __exit__(self, _kind: type[BaseException] | None, _error: object, _trace: TracebackType | None) -> None:
        self.stop()

    def stop(self) -> None:
        """Stop, and wait for the fate of every record that was written with acks=all."""
        self._ended.set()
        self._thread.join()
        self._of_all.flush(_TIMEOUT_MS / 1000 + 2)
        self._of_one.purge()
        self._of_one.flush(2)

    def _run(self) -> None:
        begun = time.monotonic()
        turns = {each: _Turn(begun, self._end(pattern, begun)) for each, pattern in self.patterns.items()}
        while not self._ended.wait(_TICK_S):
            now = time.monotonic()
            for partition, turn in turns.items():
                if turn.at <= now < turn.ends:
                    turn.at += self._write(partition, self.patterns[partition])
            self._of_all.poll(0)
            self._of_one.poll(0)

    def _end(self, pattern: Pattern, begun: float) -> float:
        return begun + (self._rng.uniform(*_SILENT_AFTER_S) if pattern is Pattern.SILENT else 3600)

    def _write(self, partition: Partition, pattern: Pattern) -> float:
        """Write what is due, and return how many seconds later the next records are."""
        count = self._rng.randint(*_BURST) if pattern is Pattern.BURSTY else 1
        for _ in range(count):
            self._written += 1
            of_all = self._rng.random() < _SHARE_OF_ALL[pattern]
            producer = self._of_all if of_all else self._of_one
            topic, number = partition
            with suppress(BufferError):  # what is not written is not acknowledged
                producer.produce(
                    topic,
                    f"{'all' if of_all else 'one'}-{self._written}",
                    partition=number,
                    on_delivery=self._confirm if of_all else None,
                )
        return self._rng.uniform(*_BURST_S) if pattern is Pattern.BURSTY else _STEADY_S

    def _confirm(self, error: object, message: Any) -> None:
        if error is None:
            self.acknowledged[message.topic(), message.partition()].add(message.value().decode())
