# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The leadership report: written before the elections, and completed after them."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._documents.errors import DocumentError
from ansible_collections.kafkaops.recovery.plugins.module_utils._documents.report_file import write_document
from ansible_collections.kafkaops.recovery.plugins.module_utils._leadership.blacklist import Blacklist
from ansible_collections.kafkaops.recovery.plugins.module_utils._leadership.decide import OrderOutcome, OrderStatus
from ansible_collections.kafkaops.recovery.plugins.module_utils._leadership.moves import Move, MoveStatus
from ansible_collections.kafkaops.recovery.plugins.module_utils._leadership.orders import Drift
from ansible_collections.kafkaops.recovery.plugins.module_utils._leadership.report import (
    LEADERSHIP_REPORT,
    LeadershipReport,
    add_leaders,
    encode_leadership_report,
    read_leadership_report,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.run import RunMode

_CLUSTER = "4L6g3nShT-eMCtK--X86sw"
_ORDER = OrderOutcome(
    topic="orders",
    partition=3,
    status=OrderStatus.REORDERED,
    reason="broker 1 is last",
    topic_id="0kfAK7wCTDmDzRwEXhGdqg",
    drift=Drift.NONE,
    replicas=(1, 2, 3),
    replicas_after=(2, 3, 1),
    original=(1, 2, 3),
)
_MOVE = Move(
    topic="orders",
    partition=3,
    status=MoveStatus.MOVED,
    reason="broker 2 is preferred, and in sync",
    leader_before=1,
    leader_after=2,
    target=2,
    topic_id="0kfAK7wCTDmDzRwEXhGdqg",
    replicas=(2, 3, 1),
    isr=(1, 2, 3),
)
_REPORT = LeadershipReport(
    cluster_id=_CLUSTER,
    mode=RunMode.APPLY,
    before=Blacklist(),
    after=Blacklist((1,), {"audit-*": (2,)}),
    is_native=False,
    remembered_in="topic _kafkaops_leadership",
    orders=(_ORDER, replace(_ORDER, partition=4, topic_id=None, replicas=None, replicas_after=None)),
    leaders=None,
)


def _written() -> dict[str, Any]:
    return encode_leadership_report(_REPORT, "2026-01-31T23:59:58Z", "2026-01-31T23:59:59Z")


def test_written_then_completed(tmp_path: Path) -> None:
    path = str(tmp_path / "report.json")
    write_document(path, _written(), LEADERSHIP_REPORT)
    assert read_leadership_report(path)["leaders"] is None
    add_leaders(path, _CLUSTER, [_MOVE], "2026-02-01T00:00:00Z")
    report = json.loads(Path(path).read_text(encoding="utf-8"))
    assert [each["status"] for each in report["orders"]] == ["reordered", "reordered"]
    assert report["leaders"][0]["leaderAfter"] == 2
    assert report["after"] == {"brokers": [1], "byTopic": [{"pattern": "audit-*", "brokers": [2]}]}
    assert report["finishedAt"] == "2026-02-01T00:00:00Z"
    assert [each.name for each in tmp_path.iterdir()] == ["report.json"]
    with pytest.raises(DocumentError, match="has elections already"):
        add_leaders(path, _CLUSTER, [_MOVE], "2026-02-01T00:00:00Z")


def test_never_overwritten_and_never_of_another_cluster(tmp_path: Path) -> None:
    path = str(tmp_path / "report.json")
    write_document(path, _written(), LEADERSHIP_REPORT)
    with pytest.raises(DocumentError, match="exists already"):
        write_document(path, _written(), LEADERSHIP_REPORT)
    with pytest.raises(DocumentError, match="this is cluster other"):
        add_leaders(path, "other", [_MOVE], "2026-02-01T00:00:00Z")
    with pytest.raises(DocumentError, match="does not exist"):
        read_leadership_report(str(tmp_path / "none.json"))
