# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Tails are saved to a directory that lasts, or the run is refused or warns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._model.log_contents import Tail
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.run import KafkaOpsError
from ansible_collections.kafkaops.recovery.plugins.module_utils._salvage.directory import OtherSalvageError
from ansible_collections.kafkaops.recovery.plugins.module_utils._salvage.from_replicas import TailSalvage
from ansible_collections.kafkaops.recovery.plugins.module_utils._salvage.tails_module import RunTails

_TMPFS = "/dev/shm/kafkaops-saved"


def test_a_required_salvage_is_refused_if_its_directory_would_be_lost() -> None:
    with pytest.raises(
        KafkaOpsError, match=f"{_TMPFS} is on a file system of type tmpfs, so the saved records would be lost"
    ):
        RunTails({"salvage": "required", "salvage_dir": _TMPFS}).check()
    assert not Path(_TMPFS).exists()


def test_best_effort_only_warns() -> None:
    tails = RunTails({"salvage": "best_effort", "salvage_dir": _TMPFS})
    tails.check()
    assert tails.warnings() == [], "nothing was saved, so nothing is to be copied away"


def test_without_salvage_there_are_no_warnings() -> None:
    assert RunTails({"salvage": "off", "salvage_dir": None}).warnings() == []


@pytest.mark.parametrize(
    ("directory", "spark", "refusal"),
    [
        ("hdfs://nn/saved", {"master": "spark://far:7077"}, "name it in spark.settings_reference"),
        ("hdfs://nn/saved", {"conf": {"my.token": "x"}}, "look secret"),
        ("hdfs://nn/saved", {"master": "spark://far:7077", "settings_reference": "/etc/here"}, ""),
        ("hdfs://nn/saved", {"remote": "sc://far:15002"}, ""),
        ("/var/tmp/saved", {"master": "spark://far:7077"}, ""),
    ],
)
def test_a_spark_that_cannot_save_is_refused_before_the_elections(
    directory: str, spark: dict[str, Any], refusal: str
) -> None:
    tails = RunTails({"salvage": "best_effort", "salvage_dir": directory, "spark": spark})
    if refusal:
        with pytest.raises(KafkaOpsError, match=refusal):
            tails.check()
    else:
        tails.check()


@dataclass(frozen=True)
class FakeSaver:
    """Finds records of other incidents in some directories."""

    destination: str
    others: frozenset[str]

    def save(self, _tails: Sequence[Tail]) -> TailSalvage:
        if self.destination in self.others:
            raise OtherSalvageError(self.destination)
        return TailSalvage(None, {}, {})


@pytest.mark.parametrize(
    ("others", "used"), [([], "/saved"), (["/saved"], "/saved-2"), (["/saved", "/saved-2"], "/saved-3")]
)
def test_records_of_another_incident_stay_in_their_directory(others: list[str], used: str) -> None:
    tails = RunTails({"salvage": "best_effort", "salvage_dir": "/saved"})
    saver: Any = FakeSaver("/saved", frozenset(others))
    tails.save_beside_others(saver, [])
    assert tails.saved_in == used


def test_a_mounted_volume_gets_the_salvage_inside(tmp_path: Path) -> None:
    """It exists before anything is saved. To refuse it after the plan would lose the records with best_effort."""
    (tmp_path / "lost+found").mkdir()
    RunTails({"salvage": "required", "salvage_dir": f"file://{tmp_path}"}).check()
    for number, name in enumerate(("salvage", "salvage", "salvage-2")):
        tails = RunTails({"salvage": "best_effort", "salvage_dir": str(tmp_path)})
        saver: Any = FakeSaver(tails.place, frozenset([str(tmp_path / "salvage")] if number > 1 else []))
        tails.save_beside_others(saver, [])
        assert tails.saved_in == str(tmp_path / name)
    (tmp_path / "manifest.json").touch()
    assert RunTails({"salvage": "best_effort", "salvage_dir": str(tmp_path)}).place == str(tmp_path)
