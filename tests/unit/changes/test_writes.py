# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What is sent, when, and what is reported, for each kind of write and each response: ``scenarios`` has the files.

``write`` is the kind of write, or a list of them: all must do the same. ``responses`` are those of ``FakeWrites``. What
follows is what must be seen: the number of ``requests`` that reached a broker; the ``seconds`` that the write took, at
least and at most; the ``outcome``, ``done`` or a part of the reason; and ``late``, whether the journal knows that a
request may still be executed.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from ansible_collections.kafkaops.recovery.plugins.module_utils._changes.journal import Journal
from ansible_collections.kafkaops.recovery.plugins.module_utils._changes.orders import OrderRequest, set_orders
from ansible_collections.kafkaops.recovery.plugins.module_utils._changes.record import ReplicaChange, SettingChange
from ansible_collections.kafkaops.recovery.plugins.module_utils._changes.replica_sets import ReplicaSets
from ansible_collections.kafkaops.recovery.plugins.module_utils._changes.sender import Writer
from ansible_collections.kafkaops.recovery.plugins.module_utils._changes.setting_writer import SettingWriter
from ansible_collections.kafkaops.recovery.plugins.module_utils._cleaner.restart import write_edits
from ansible_collections.kafkaops.recovery.plugins.module_utils._leadership.deprioritize import write_config
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.run import KafkaOpsError, NullProgress
from unit.fakes.journals import FakeDoubtNotes
from unit.fakes.writes import ADDRESSES, PARTITION, FakeWrites

DIRECTORY = Path(__file__).parent / "scenarios"
CHANGE = ReplicaChange("t", 0, "A" * 22, 3, (1, 2, 3), 1, 1)
SETTING = SettingChange("broker", "3", "log.cleaner.backoff.ms", None, "15001")


def _order(writer: Writer, _journal: Journal) -> str:
    return set_orders(writer, {PARTITION: OrderRequest("A" * 22, (3, 1, 2), [(1, 2, 3)])}).get(PARTITION, "")


def _replicas(writer: Writer, journal: Journal) -> ReplicaSets:
    return ReplicaSets(writer, ADDRESSES, journal, 60, threading.Event(), NullProgress())


WRITES: dict[str, Callable[[Writer, Journal], str | None]] = {
    "order": _order,
    "replica set": lambda writer, journal: _replicas(writer, journal).assign(CHANGE, (1, 2)),
    "leadership": lambda writer, journal: _replicas(writer, journal).move_leadership(CHANGE, (1, 2, 3), 1),
    "setting": lambda writer, _journal: SettingWriter(writer, ADDRESSES).write(SETTING, SETTING.changed),
    "lasting setting": lambda writer, _journal: write_edits(SettingWriter(writer, ADDRESSES), 3, {SETTING.name: "5"}),
    "list": lambda writer, _journal: write_config(writer, "1"),
}


def _cases() -> list[Any]:
    found = []
    for path in sorted(DIRECTORY.glob("*.yml")):
        scenario = yaml.safe_load(path.read_text(encoding="utf-8"))
        for write in scenario["write"]:
            found.append(pytest.param(write, scenario, id=f"{path.stem}-{write}"))
    return found


@pytest.mark.parametrize(("write", "scenario"), _cases())
def test_a_write_does_what_its_scenario_says(write: str, scenario: dict[str, Any], journal: Journal) -> None:
    kafka, noted = FakeWrites([*scenario["responses"]]), FakeDoubtNotes()
    if write == "leadership":
        # Its order is set already. What the scenario scripts is the election.
        kafka.state = kafka.state._replace(leader_id=2)
        kafka.responses.insert(0, "executed")
    writer = Writer(kafka, [*ADDRESSES.values()], 3, 30.0, journal=noted)
    try:
        reason = WRITES[write](writer, journal) or ""
    except KafkaOpsError as error:
        reason = str(error)
    requests = [each for each in kafka.requests if each != "reorder" or write == "order"]
    least, most = scenario["seconds"]
    assert len(requests) == scenario["requests"]
    assert scenario["outcome"] in (reason or "done")
    assert least <= kafka.clock.now <= most
    assert bool(noted.until) is scenario["late"]


def test_every_kind_of_write_has_each_scenario_that_it_can_have() -> None:
    covered = {(case.id.rpartition("-")[0], case.values[0]) for case in _cases()}
    for stem in {stem for stem, _write in covered} - {"partition_is_refused_once"}:
        assert {write for other, write in covered if other == stem} == WRITES.keys(), stem
