# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""One broker's replicas with 100 leader epochs each, asked over a line with 50 ms of delay."""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import partial

from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.replica_logs import probe_replicas
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.settings import Address, ConnectionSettings
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import (
    Broker,
    BrokerState,
    TopicPartition,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.run import garbage_collection_paused
from bench.kit.delay_line import delay_line
from bench.kit.row import CannotMeasureError, Options, Row, Timing
from bench.kit.simulated import simulator
from bench.kit.timing import in_turns, timed
from simulator.world import Log, Partition, Topic, World

_REPLICAS = (300, 3000)
_EPOCHS = 100
_RECORDS = 10
"""Records in each epoch."""
_BROKER = 1
_ONE_WAY_SECONDS = 0.025
_GOAL = 3.0
_SECONDS = 120.0


def run(options: Options) -> Iterator[Row]:
    """Compare logs of 100 epochs with logs of one, of the same number of replicas."""
    for replicas in _REPLICAS:
        make_world = partial(world, replicas)
        with (
            simulator(make_world) as bootstrap,
            delay_line(int(bootstrap.rpartition(":")[2]), _ONE_WAY_SECONDS) as port,
        ):
            ask = (partial(timed, partial(_ask, port, epochs, replicas)) for epochs in (1, _EPOCHS))
            shallow, deep = in_turns(options.repeats, *ask)
        yield Row(
            Timing(f"{replicas} replicas of one epoch, 50 ms away", shallow),
            Timing(f"{replicas} replicas of {_EPOCHS} epochs", deep),
            _GOAL,
        )


def world(replicas: int) -> World:
    """Return one broker with replicas of both kinds, without leaders."""
    kinds = (1, _EPOCHS)
    return World((_BROKER,), {_topic(epochs): Topic(_topic(epochs), _partitions(epochs, replicas)) for epochs in kinds})


def _topic(epochs: int) -> str:
    return f"epochs-{epochs}"


def _partitions(epochs: int, replicas: int) -> dict[int, Partition]:
    log = Log(tuple((epoch, epoch * _RECORDS) for epoch in range(epochs)), epochs * _RECORDS)
    return {number: Partition((_BROKER,), {_BROKER: log}, leader_epoch=epochs) for number in range(replicas)}


def _ask(port: int, epochs: int, replicas: int) -> None:
    """Raise CannotMeasureError unless the complete lineage is returned."""
    address = Address("127.0.0.1", port)
    broker = Broker(_BROKER, address.host, address.port, None, is_fenced=False, state=BrokerState.ONLINE)
    with garbage_collection_paused():  # as in a gather's task
        rows = probe_replicas(
            ConnectionSettings(bootstrap_servers=(address,)),
            broker,
            [TopicPartition(_topic(epochs), number) for number in range(replicas)],
            time.monotonic() + _SECONDS,
        )
    wrong = [row for row in rows if row.cause or len(row.lineage) != epochs]
    if wrong or len(rows) != replicas:
        raise CannotMeasureError(f"{len(wrong)} of {len(rows)} logs came back wrong, the first: {wrong[:1]}")
