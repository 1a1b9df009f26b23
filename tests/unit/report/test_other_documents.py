# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Pages without a recovery: a saved survey, and evidence."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._documents.errors import DocumentError
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import PartitionState
from ansible_collections.kafkaops.recovery.plugins.module_utils._module.run import to_json_types
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.evidence import Evidence, write_evidence
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.rows import REPLICA_LOG_SCHEMA
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.start_order import (
    describe_advice,
    find_start_order,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._report.page import build_page
from ansible_collections.kafkaops.recovery.plugins.module_utils._report.sources import (
    DocumentKind,
    read_documents,
    read_sources,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._report.template import render_html
from unit.recovery import outages
from unit.recovery.wreckage import an_offline_partition

OFFLINE = an_offline_partition(elr=(1,), offline=(1,))._replace(topic="orders")
CLUSTER = "4L6g3nShT-eMCtK--X86sw"


def a_survey(*partitions: PartitionState) -> dict[str, Any]:
    """Return a result of offline_partition_info, with the fields that Ansible adds."""
    advice = find_start_order(partitions, outages.brokers())
    return {
        "changed": False,
        "failed": False,
        "cluster_id": CLUSTER,
        "looked_at": "2026-01-31T02:59:59Z",
        "brokers": to_json_types(outages.brokers()),
        "partitions": to_json_types(partitions),
        "left_alone": [],
        "start_order": [{**to_json_types(each), "explanation": describe_advice(each)} for each in advice],
        "unfinished": [],
        "led_by_silent": 0,
        "led_by_replaced": 0,
        "summary": {"offline": len(partitions)},
    }


def a_row(broker_id: int, **fields: Any) -> dict[str, Any]:
    return {
        **dict.fromkeys(REPLICA_LOG_SCHEMA.names),
        "topic": "orders",
        "partition": 0,
        "broker_id": broker_id,
        "place": broker_id - 1,
        "is_fenced": False,
        "error": "",
        **fields,
    }


def test_a_saved_survey(tmp_path: Path) -> None:
    path = tmp_path / "survey.json"
    path.write_text(json.dumps(a_survey(OFFLINE)), encoding="utf-8")
    (source,) = read_sources([str(path)])
    page = build_page([source], "Survey")
    assert source.kind is DocumentKind.SURVEY
    assert page.verdict == "1 partition has no leader; broker 1 should be started first."
    html = render_html(page).decode()
    assert "orders-0" in html
    assert "in the ISR or ELR of 1" in html


def test_the_disk_of_a_broker_that_missed_unclean_elections_is_saved_first(tmp_path: Path) -> None:
    survey = a_survey()
    survey["brokers"][0] |= {"state": "fenced", "is_fenced": True, "unclean_elections": 2}
    survey["brokers"][1] |= {"unclean_elections": 2, "offline_log_dirs": ["/data/1"]}
    path = tmp_path / "survey.json"
    path.write_text(json.dumps(survey), encoding="utf-8")
    page = render_html(build_page(read_sources([str(path)]), "Survey")).decode()
    assert f"Before broker {survey['brokers'][0]['broker_id']} is started: save the records" in page
    assert f"Before broker {survey['brokers'][1]['broker_id']} restarts with /data/1: save the records" in page


def test_a_survey_of_many_partitions_says_that_it_is_cut(tmp_path: Path) -> None:
    path = tmp_path / "survey.json"
    path.write_text(json.dumps(a_survey(*(OFFLINE._replace(partition=each) for each in range(1001)))), encoding="utf-8")
    page = render_html(build_page(read_sources([str(path)]), "Survey")).decode()
    assert "1,001 partitions without a leader; the first 1,000 of 1,001" in page


@pytest.mark.parametrize(
    ("doubtful", "verdict"),
    [
        ({"led_by_silent": 2}, "2 partitions are led by brokers that do not answer. 0 partitions have no leader."),
        ({"led_by_replaced": 1}, "1 partition is led by logs that seem to be on new disks: save the disks of their"),
    ],
)
def test_a_survey_with_doubtful_leaders_is_not_good(tmp_path: Path, doubtful: dict[str, int], verdict: str) -> None:
    path = tmp_path / "survey.json"
    path.write_text(json.dumps({**a_survey(), **doubtful}), encoding="utf-8")
    page = build_page(read_sources([str(path)]), "Survey")
    assert page.verdict.startswith(verdict)
    assert page.tone == "bad"


def test_a_survey_with_a_wrong_value_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "survey.json"
    survey = a_survey(OFFLINE)
    survey["partitions"][0]["replicas"] = "1,2,3"
    path.write_text(json.dumps(survey), encoding="utf-8")
    with pytest.raises(DocumentError, match="/partitions/0/replicas"):
        read_sources([str(path)])


def test_evidence(tmp_path: Path) -> None:
    lineage = [{"epoch": 0, "end_offset": 100}, {"epoch": 2, "end_offset": 110}]
    rows = [
        a_row(1, cause="unreachable", error=outages.ERROR, lineage=[]),
        a_row(
            2, log_start_offset=0, log_end_offset=105, last_written_epoch=0, lineage=[{"epoch": 0, "end_offset": 105}]
        ),
        a_row(3, log_start_offset=0, log_end_offset=110, last_written_epoch=2, lineage=lineage),
    ]
    table = pa.Table.from_pylist(rows, schema=REPLICA_LOG_SCHEMA)
    evidence = Evidence(CLUSTER, "2026-01-31T02:59:59Z", "1.1.0", table, (OFFLINE,))
    stored = [write_evidence(evidence, root) for root in (tmp_path / "evidence", tmp_path)]
    found = [[each.path for each in read_documents([], str(path)).sources] for path in (tmp_path, stored[1].parent)]
    assert found == [[*map(str, reversed(stored))], [str(stored[1])]]
    (source,) = read_sources([str(stored[0])])
    page = build_page([source], "Evidence")
    assert page.verdict == "Evidence of 1 partition; nothing was decided."
    html = render_html(page).decode()
    assert "<figure><h3>orders-0" in html
    assert "if broker 3 is elected: at least 5 records would be lost, and how many more is unknown" in html
    assert outages.ERROR in html


def test_evidence_is_ranked_and_forecast_as_a_plan_is(tmp_path: Path) -> None:
    """Broker 3 has more of the tiered topic on its own disk than broker 2. What the tier holds is unknown."""
    log = {"log_start_offset": 0, "log_end_offset": 110, "last_written_epoch": 2, "is_tiered": True}
    lineage = [{"epoch": 2, "end_offset": 110}]
    rows = [
        a_row(1, cause="unreachable", error=outages.ERROR, lineage=[]),
        *(a_row(broker, **log, lineage=lineage, local_log_start_offset=start) for broker, start in ((2, 50), (3, 20))),
    ]
    table = pa.Table.from_pylist(rows, schema=REPLICA_LOG_SCHEMA)
    stored = write_evidence(Evidence(CLUSTER, "2026-01-31T02:59:59Z", "1.1.0", table, (OFFLINE,)), tmp_path)
    html = render_html(build_page(read_sources([str(stored)]), "Evidence")).decode()
    assert "if broker 3 is elected: whether records would be lost is unknown" in html
