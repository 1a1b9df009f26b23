# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A short seed of the fault campaign (docs/reliability.md); `make campaign` runs every kind of fault."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import pytest

from campaign.kinds import KINDS, Kind
from campaign.trial import CAMPAIGN, run_trial
from lab.pool import ClusterPool

pytestmark = [pytest.mark.on_any_version, pytest.mark.wide]

_NAMES = ("the response of the election is lost", "the run is killed after the reorder")
_SEEDS = (1, 4)
"""With a second run that competes for the lock; with Kafka's own clients and a share group."""


@pytest.mark.parametrize(
    ("kind", "seed"),
    zip((each for each in KINDS if each.name in _NAMES), _SEEDS, strict=True),
    ids=["two runs", "more clients"],
)
def test_a_trial_is_clean(kind: Kind, seed: int, clusters: ClusterPool, kafka_version: str, tmp_path: Path) -> None:
    with clusters.lease(CAMPAIGN, kafka_version) as cluster:
        verdict = run_trial(cluster, kind, seed, tmp_path, replays=False)
    assert (verdict.group_reads > 0) == (seed in _SEEDS[1:])
    assert verdict.faults > 0
    assert verdict.elections > 0
    assert verdict.acknowledged > 0
    assert verdict.is_clean, asdict(verdict)
