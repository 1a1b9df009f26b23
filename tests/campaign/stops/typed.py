# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Ask the stop gate by its playbook, as persons and pipelines type it: strings, lists, racks and sets."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ansible_collections.kafkaops.recovery.plugins.module_utils._documents.dataclass_json import codec
from ansible_collections.kafkaops.recovery.plugins.module_utils._stop_gate.gate import Answer, Gate
from campaign.stops.states import RACKS
from lab import Cluster
from lab.playbook import PlaybookRun, typed

_STATUS = {Answer.YES: 0, Answer.NO: 2}
_TIMES = ("schemaVersion", "startedAt", "finishedAt")


def check_stop(cluster: Cluster, directory: Path, *words: str) -> PlaybookRun:
    """Run the playbook in a directory. ``words`` are what is typed after -e, one for each -e."""
    controllers = ",".join(f"{each.host}:{each.port}" for each in cluster.controllers.values())
    settings = (f"kafka_bootstrap_servers={cluster.bootstrap()}", f"kafka_bootstrap_controllers={controllers}")
    given = [part for each in (*settings, "kafka_request_timeout_ms=2000", *words) for part in ("-e", each)]
    return typed(directory, "ansible-playbook", "kafkaops.recovery.check_stop", *given)


def spellings(brokers: Sequence[int]) -> Iterator[str]:
    """Yield ways to type one set of brokers."""
    ids = [str(each) for each in sorted(brokers)]
    yield f"stop_gate_brokers={','.join(ids)}"
    yield f"stop_gate_brokers={';'.join(ids)}"
    yield f"stop_gate_brokers=[{','.join(ids)}]"
    if ids == [str(each) for each in range(min(brokers), max(brokers) + 1)]:
        yield f"stop_gate_brokers={ids[0]}-{ids[-1]}"
    yield json.dumps({"stop_gate_brokers": ", ".join(ids)})
    yield json.dumps({"stop_gate_brokers": ids})
    yield json.dumps({"stop_gate_brokers": sorted(brokers)})
    yield f"stop_gate_sets={'+'.join(ids)}"
    yield json.dumps({"stop_gate_sets": [" + ".join(reversed(ids))]})
    for rack in sorted({*RACKS.values()}):
        if {*brokers} == {each for each in RACKS if RACKS[each] == rack}:
            yield f"stop_gate_racks={rack}"
            yield json.dumps({"stop_gate_racks": [rack]})


@dataclass(frozen=True)
class Typed:
    """Asks about a set in one of its spellings, by chance."""

    rng: random.Random
    directory: Path

    def __call__(self, cluster: Cluster, brokers: Sequence[int]) -> Gate:
        """Return what the report says. Raises AssertionError if the exit status says something else."""
        word = self.rng.choice([*spellings(brokers)])
        report = self.directory / f"{len([*self.directory.iterdir()])}.json"
        ran = check_stop(cluster, self.directory, word, f"stop_gate_report_file={report.name}")
        if not report.exists():
            raise AssertionError(f"{word}: no report, exit status {ran.returncode}: {ran.output}")
        found = json.loads(report.read_text("utf-8"))
        gate = codec(Gate, "a gate").decode({key: each for key, each in found.items() if key not in _TIMES})
        if ran.returncode != _STATUS[gate.verdict] or gate.stops[0].brokers != tuple(sorted(brokers)):
            raise AssertionError(f"{word}: {gate}, exit status {ran.returncode}: {ran.output}")
        return gate
