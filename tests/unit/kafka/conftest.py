# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A probe of a scripted broker."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.replica_logs import probe_replicas
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import (
    Broker,
    ReplicaLog,
)
from unit.fakes.clock import FakeClock
from unit.kafka.fake_connection import Answer
from unit.kafka.fake_probe import (
    BROKER,
    FIRST,
    SECOND,
    SETTINGS,
    FakeWire,
    Probe,
)


@pytest.fixture
def probe(clock: FakeClock) -> Probe:
    """Return a function that probes FIRST and SECOND of a broker whose connections use the given functions."""

    def run(
        *answers: Answer, broker: Broker = BROKER, limit_s: float = 5.0, **options: Any
    ) -> tuple[list[ReplicaLog], FakeWire]:
        wire: Any = FakeWire(answers)
        deadline = clock.now + limit_s
        rows = probe_replicas(SETTINGS, broker, [FIRST, SECOND], deadline, open_wire=wire, clock=clock, **options)
        assert [(row.topic, row.partition, row.broker_id) for row in rows] == [("orders", 0, 3), ("orders", 1, 3)]
        return rows, wire

    return run
