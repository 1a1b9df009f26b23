# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The additional time of a recovery that saves 1,000 tails of 1 MiB from a live loser before it deletes them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from ansible_collections.kafkaops.recovery.plugins.module_utils._salvage.manifest import read_manifest
from bench.kit.playbooks import timed_playbook
from bench.kit.row import CannotMeasureError, Options, Row, Run, Timing
from bench.kit.worlds import check_led_by, recovery_variables
from lab import Cluster
from lab.playbook import RECOVER
from lab.scenarios import longer_log_of_older_epoch

_TAILS = int(os.environ.get("KAFKAOPS_BENCH_TAILS", "1000"))
_RECORDS, _RECORD_BYTES = 1024, 1024
_MOST_SECONDS_MORE = 20.0
_TIMEOUT_S = 600.0


def run(_options: Options) -> Iterator[Row]:
    """Run the playbook once each, from process start to end, on a new cluster that is broken in the same way."""
    without, saving = (_measured(each) for each in ("off", "best_effort"))
    what = f"recovery playbook, {_TAILS:,} partitions"
    yield Row(
        Timing(f"{what}, salvage off", [without]),
        Timing(f"the same, {_TAILS:,} tails of {_RECORDS * _RECORD_BYTES / 2**20:.0f} MiB saved", [saving]),
        (without.seconds + _MOST_SECONDS_MORE) / without.seconds,
    )


def _measured(salvage: str) -> Run:
    # On a disk: the lab's own directory is in memory.
    with (
        TemporaryDirectory(prefix="kafkaops-bench-") as name,
        Cluster(heap="1g", base_dir=Path(name), properties={"message.max.bytes": 4 * 2**20}) as cluster,
    ):
        offline = longer_log_of_older_epoch(
            cluster, "bench", _TAILS, records=(10, _RECORDS, 5), older_bytes=_RECORD_BYTES
        )
        saved = Path(name, "saved")
        variables = {
            **recovery_variables(cluster, offline, Path(name)),
            "unclean_recovery_salvage": salvage,
            "unclean_recovery_salvage_dir": str(saved),
        }
        spent = timed_playbook(RECOVER, variables, timeout=_TIMEOUT_S)
        check_led_by(cluster, offline, offline.best)
        if salvage != "off":
            _check(saved)
        return spent


def _check(saved: Path) -> None:
    found = [each.records for each in read_manifest(str(saved)).partitions]
    if found != [_RECORDS] * _TAILS:
        raise CannotMeasureError(f"{len(found)} partitions, of which {found.count(_RECORDS)} were saved whole")
