# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""More partitions than a page of metadata (2,000), a request or a batch (1,000) holds."""

from __future__ import annotations

from pathlib import Path

import pytest

from lab import Cluster, scenarios
from lab.recovery import Recovery

pytestmark = pytest.mark.on_any_version

_PARTITIONS = 2100


@pytest.mark.wide
@pytest.mark.timeout(600)
def test_all_on_their_designated_brokers(kafka_version: str, tmp_path: Path) -> None:
    with Cluster(kafka_version, heap="1g") as cluster:
        offline = scenarios.diverged(cluster, "many", partitions=_PARTITIONS, records=(1, 1, 1))
        recovery = Recovery(cluster, tmp_path)
        run = recovery.recover()
        assert run.returncode == 0, run.output
        assert recovery.report["summary"]["recovered"] == _PARTITIONS
        after = cluster.client.describe("many", broker=offline.best)
        assert len(after) == _PARTITIONS
        assert {state.leader for state in after.values()} == {offline.best}
        assert {state.replicas for state in after.values()} == {offline.replicas}
        # No wall of text: neither a table of thousands of rows nor the modules' results.
        assert len(run.output.splitlines()) < 200
