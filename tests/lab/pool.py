# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Clusters that are started once and used by many tests. A start needs a JVM for each node, and a repair rarely one."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from confluent_kafka import KafkaException

from lab.cluster import Cluster
from lab.health import heal
from lab.node import NodeError

Lab = TypeVar("Lab", bound=AbstractContextManager[Any])

_CANNOT_BE_HEALED = (NodeError, TimeoutError, OSError, KafkaException)


@dataclass(frozen=True)
class Specification(Generic[Lab]):
    """A kind of cluster: functions that create it for a Kafka version, and restore its initial state."""

    name: str
    create: Callable[[str], Lab]
    heal: Callable[[Lab], None]


class ClusterPool:
    """One running cluster for one user at a time; a context manager that stops it at the end.

    Only one is kept: the next one of another specification or version takes its place. So the tests of one kind are
    best run one after the other, and memory is bounded.
    """

    def __init__(self) -> None:
        self._stack = ExitStack()
        self._kept: tuple[tuple[str, str], Any] | None = None
        self.started = 0
        """How many clusters were started."""

    def __enter__(self) -> ClusterPool:
        return self

    def __exit__(self, *_failure: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop what is up."""
        self._kept = None
        self._stack.close()

    @contextmanager
    def lease(self, specification: Specification[Lab], version: str) -> Iterator[Lab]:
        """Lease a healthy cluster. The user must not enter it as a context manager again."""
        key = (specification.name, version)
        lab = self._healed(specification) if self._kept is not None and self._kept[0] == key else None
        if lab is None:
            self.close()
            lab = specification.create(version)
            self._stack.enter_context(lab)
            self.started += 1
        self._kept = None  # not for others meanwhile, nor again if the user leaves by an error that we do not see
        yield lab
        self._kept = (key, lab)

    def _healed(self, specification: Specification[Lab]) -> Lab | None:
        assert self._kept is not None
        lab: Lab = self._kept[1]
        try:
            specification.heal(lab)
        except _CANNOT_BE_HEALED as error:
            warnings.warn(f"A {specification.name} cluster is replaced: {error}", stacklevel=2)
            return None
        return lab


STANDARD: Specification[Cluster] = Specification("standard", lambda version: Cluster(version, proxied=True), heal)
"""Three brokers and a controller behind the proxy, for most tests."""
