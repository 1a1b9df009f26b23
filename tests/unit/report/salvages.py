# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Sample data: a salvage of a broker's disks, its manifest, a replay, and a readiness check."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ansible_collections.kafkaops.recovery.plugins.module_utils._disk.segment import Damage, DamageKind
from ansible_collections.kafkaops.recovery.plugins.module_utils._documents.report_file import ReportFile
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.log_contents import EpochRange
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import TopicPartition
from ansible_collections.kafkaops.recovery.plugins.module_utils._readiness.check import (
    BrokerLoss,
    Check,
    CheckName,
    CheckStatus,
    Losses,
    Readiness,
    build_readiness,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._salvage import disk_module, replay_module
from ansible_collections.kafkaops.recovery.plugins.module_utils._salvage.finding import (
    DiskFinding,
    FileDamage,
    SalvageStatus,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._salvage.from_disk import DiskSalvage
from ansible_collections.kafkaops.recovery.plugins.module_utils._salvage.group_offsets import NewerCommit
from ansible_collections.kafkaops.recovery.plugins.module_utils._salvage.manifest import (
    Manifest,
    SavedFrom,
    encode_manifest,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._salvage.replay import Replay
from ansible_collections.kafkaops.recovery.plugins.module_utils._salvage.replayed import LeftOut, Replayed, ReplayStatus
from ansible_collections.kafkaops.recovery.plugins.module_utils._salvage.saved import SavedRecords

CLUSTER = "4L6g3nShT-eMCtK--X86sw"
TOPIC_ID = "0kfAK7wCTDmDzRwEXhGdqg"
"""That of the outages in unit.recovery."""
AT = "2026-01-31T23:59:59Z"
HOSTILE = "</td><script>alert(1)</script>{{ 7*7 }}\"'><img src=x onerror=alert(1)>"
SALVAGE_DIR = "/var/tmp/salvage-broker1"
_PARAMS = {"salvage_dir": SALVAGE_DIR, "target": "side", "max_rows": 1}


def saved(partition: int, start: int, end: int, *, aborted: int = 0, unknown: int = 0) -> SavedRecords:
    """Return the saved records of one partition of orders: every offset is a record."""
    counts = (end - start, 40 * (end - start), 1, 2, 30, aborted, unknown)
    return SavedRecords("orders", partition, TOPIC_ID, (EpochRange(3, start, end),), *counts, 1, 1, 1, 0, 3, 120, 4000)


SAVED = (saved(0, 100, 350, aborted=20), saved(1, 70, 80, unknown=5))
MANIFEST = Manifest("salvage-1", CLUSTER, AT, "kafka1", "kafka", "1.0.0", (SavedFrom(1),), (), SAVED, ())


def a_disk_salvage(reason: str = "it has no leader") -> DiskSalvage:
    """Return two saved replicas, one that could not be compared, and a damaged one whose records the leader has."""
    torn = FileDamage("/var/lib/kafka/orders-3/0.log", Damage(DamageKind.TORN_TAIL, 4096, 37, 512, None))
    findings = (
        DiskFinding("orders", 0, TOPIC_ID, None, SalvageStatus.SAVED, lost=(EpochRange(3, 100, 350),), saved=SAVED[0]),
        DiskFinding(
            "orders",
            1,
            TOPIC_ID,
            None,
            SalvageStatus.SAVED,
            lost=(EpochRange(3, 70, 90),),
            unreadable=(EpochRange(3, 80, 90),),
            before_log_start=(EpochRange(2, 0, 7),),
            saved=SAVED[1],
        ),
        DiskFinding("orders", 2, TOPIC_ID, None, SalvageStatus.FAILED, reason),
        DiskFinding("orders", 3, TOPIC_ID, None, SalvageStatus.NOTHING_LACKING, damages=(torn,)),
        DiskFinding("orders", 4, TOPIC_ID, None, SalvageStatus.NOTHING_LACKING),
    )
    commits = (NewerCommit(reason, "orders", 0, 300, 90), NewerCommit("billing", "orders", 1, 75, None))
    return DiskSalvage(CLUSTER, 1, ("/var/lib/kafka",), findings, MANIFEST.salvage_id, commits)


def a_replay(reason: str = "topic orders.salvaged has fewer partitions") -> Replay:
    """Return one partition that was given back, and one that was refused."""
    rows = (
        Replayed(
            "orders", 0, TOPIC_ID, "orders.salvaged", ReplayStatus.GIVEN_BACK, "", 250, 130, 130, 5200, 100, 0,
            {LeftOut.ABORTED: 20},
        ),
        Replayed("orders", 1, TOPIC_ID, "orders.salvaged", ReplayStatus.REFUSED, reason, 10, 0, 0, 0, 0, 0, {}),
    )  # fmt: skip
    return Replay(MANIFEST, rows, {TopicPartition("orders", 0): 100})


def a_readiness(found: str = "ALTER on the cluster is missing") -> Readiness:
    """Return a check with each status, and the loss of one broker."""
    checks = (
        Check(CheckName.JAVA, CheckStatus.OK, "", "Java 17", ""),
        Check(CheckName.CLASS_ARCHIVE, CheckStatus.WARNING, "", "there is none", "Run it once"),
        Check(CheckName.CLOCKS, CheckStatus.UNKNOWN, "broker 2", "no answer", "Start it"),
        Check(CheckName.PERMISSIONS, CheckStatus.FAILED, "playbook recover_offline_partitions", found, "Grant it"),
    )
    losses = tuple(
        BrokerLoss(
            broker_id=broker_id,
            offline_partitions=offline,
            offline="orders 0-11" if offline else "",
            unrecoverable_partitions=unrecoverable,
            unrecoverable="orders 9-11" if offline else "",
            below_min_isr_partitions=below,
        )
        for broker_id, offline, unrecoverable, below in ((1, 12, 3, 1204), (2, 0, 0, None))
    )
    return build_readiness(CLUSTER, checks, Losses(losses))


def disk_result(done: DiskSalvage, file: ReportFile, **params: Any) -> dict[str, Any]:
    return disk_module.results_of(done, _PARAMS | params, file)


def replay_result(done: Replay, file: ReportFile, **params: Any) -> dict[str, Any]:
    return replay_module.results_of(done, _PARAMS | params, file)


def written(path: Path, content: Mapping[str, Any] | bytes) -> Path:
    """Write a document, and return its path."""
    path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
    return path


def manifest_in(directory: Path) -> Path:
    """Write the manifest of the salvage, and return its path."""
    return written(directory / "manifest.json", encode_manifest(MANIFEST))
