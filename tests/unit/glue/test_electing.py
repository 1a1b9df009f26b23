# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What surrounds elections: the question whether the quorum bears them, and the report."""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils.glue import electing
from ansible_collections.kafkaops.recovery.plugins.module_utils.glue.quorum_preflight import NoQuorumError
from ansible_collections.kafkaops.recovery.plugins.module_utils.kafka.addresses import Address
from ansible_collections.kafkaops.recovery.plugins.module_utils.kafka.settings import ConnectionSettings
from ansible_collections.kafkaops.recovery.plugins.module_utils.operations.designated_election import ElectionReport
from ansible_collections.kafkaops.recovery.plugins.module_utils.recovery.outcome import Outcome
from ansible_collections.kafkaops.recovery.plugins.module_utils.recovery.plan import Plan, Status
from unit.operations.fake_cluster import CLUSTER_ID
from unit.operations.wreck import Wreck, wrecked

REPORT = ElectionReport((Outcome("orders", 0, Status.RECOVERED, "the newest epoch"),), ())
NOTHING_PLANNED = Plan(CLUSTER_ID, "", (), ())


@pytest.fixture
def wreck(tmp_path: Path) -> Wreck:
    return Wreck(wrecked(1, str(tmp_path / "journal")))


@pytest.fixture
def params(wreck: Wreck, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Parameters of a run on that wreck, whose elections all succeed."""
    settings = ConnectionSettings(bootstrap_servers=(Address("fake.invalid", 9092),))
    for name, value in {
        "connection_settings": settings,
        "describe_cluster": wreck.cluster.describe_cluster(None),
        "given_designations": wreck.plan(),
        "look_at_brokers": (),
        "refuse_a_race": None,
        "require_quorum": None,
        "run_elections": REPORT,
    }.items():
        monkeypatch.setattr(electing, name, lambda *_arguments, value=value: value)
    return {
        "acknowledge_unclean_leader_election": False,
        "journal_dir": wreck.cluster.journal_dir,
        "progress_file": None,
        "recovery_election_attempts": 3,
        "report_aftermath": False,
        "report_file": str(tmp_path / "report.json"),
        "verify_timeout_ms": 1000,
    }


def elect(params: dict[str, Any]) -> electing.Elected:
    return electing.elect(params, check_mode=False, stop=threading.Event())


def refuse(*_arguments: object) -> None:
    raise NoQuorumError("no majority")


def test_the_report_is_written(params: dict[str, Any]) -> None:
    assert elect(params).report_fault == ""
    assert Path(params["report_file"]).exists()


def test_a_report_that_cannot_be_written_costs_no_result(
    params: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def appear_meanwhile(*_arguments: object) -> ElectionReport:
        Path(params["report_file"]).write_text("somebody else's", encoding="utf-8")
        return REPORT

    monkeypatch.setattr(electing, "run_elections", appear_meanwhile)
    done = elect(params)
    assert done.report == REPORT
    assert done.report_fault.startswith(f"the report is not written: {params['report_file']} is refused")
    assert done.failure_message(check_mode=False) == done.report_fault
    assert Path(params["report_file"]).read_text(encoding="utf-8") == "somebody else's"


def test_a_missing_report_is_told_beside_what_was_not_recovered(params: dict[str, Any]) -> None:
    done = elect(params)
    assert done.failure_message(check_mode=False) is None
    failed = ElectionReport((Outcome("orders", 0, Status.FAILED, "no leader was seen"),), ())
    message = replace(done, report=failed, report_fault="disk full").failure_message(check_mode=False)
    assert message == "1 of 1 partitions were not recovered:\n  orders-0: failed: no leader was seen\ndisk full"


def test_without_a_quorum_nothing_is_elected(params: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(electing, "require_quorum", refuse)
    with pytest.raises(NoQuorumError):
        elect(params)


def test_without_a_quorum_no_order_is_put_back_either(
    wreck: Wreck, params: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(electing, "given_designations", lambda _params: NOTHING_PLANNED)
    monkeypatch.setattr(electing, "require_quorum", refuse)
    assert elect(params).report == REPORT, "nothing planned and nothing left is nothing to ask the quorum for"
    Path(params["report_file"]).unlink()
    wreck.left_by_a_killed_run()
    with pytest.raises(NoQuorumError):
        elect(params)
