# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Attempts at the same salvage, each into a directory of its own, and what each of them must end with."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

from ansible_collections.kafkaops.recovery.plugins.module_utils._salvage.manifest import (
    find_file_problems,
    read_manifest,
)
from integration.salvage.disks import read_rows, records
from integration.salvage.oracle import Oracle, in_short
from integration.salvage.wreck import BROKER_CODECS, LAST_LEADER

_TOPIC = BROKER_CODECS["lz4"]


class Attempt(NamedTuple):
    """One salvage of the last leader's disk."""

    number: int
    """From 1."""
    place: Path
    """The directory that gets ``saved``, and nothing else."""
    saved: Path
    options: dict[str, Any]
    """Those of replica_log_salvage."""


def attempts_at_a_disk(oracle: Oracle, tmp_path: Path) -> Iterator[Attempt]:
    disks = [str(each) for each in oracle.cluster.brokers[LAST_LEADER].data_dirs]
    for number in count(1):
        place = tmp_path / f"place-{number}"
        place.mkdir()
        options: dict[str, Any] = {
            "bootstrap_servers": [oracle.cluster.bootstrap()],
            "log_dirs": disks,
            "topics": [_TOPIC],
            "salvage_dir": str(place / "saved"),
        }
        yield Attempt(number, place, place / "saved", options)


def check_files(saved: Path) -> None:
    """Check that the files of a finished salvage are what its manifest says."""
    assert not find_file_problems(str(saved), read_manifest(str(saved)).files)


def check_whole(saved: Path) -> None:
    """Check that the directory is a finished salvage, and that nothing else is beside it."""
    check_files(saved)
    assert [each.name for each in saved.parent.iterdir()] == [saved.name]


def check_saved(oracle: Oracle, saved: Path) -> None:
    """Check that the directory is a finished salvage of what the cluster lacks of the disk."""
    check_whole(saved)
    assert in_short(records(read_rows(saved))) == in_short(oracle.of("lost", _TOPIC))
