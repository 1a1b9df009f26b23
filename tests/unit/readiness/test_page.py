# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The printed readiness, and when the task fails."""

from __future__ import annotations

from typing import Any

from ansible_collections.kafkaops.recovery.plugins.plugin_utils import readiness_page
from ansible_collections.kafkaops.recovery.plugins.plugin_utils.rendering import rendered

LOSS = {
    "broker_id": 3,
    "offline_partitions": 2,
    "offline": "orders 0-1",
    "unrecoverable_partitions": 0,
    "unrecoverable": "",
    "below_min_isr_partitions": None,
}

RACK = {name: value for name, value in LOSS.items() if name != "broker_id"} | {"rack": "b", "brokers": [2, 3]}


def check(name: str, status: str, subject: str = "", found: str = "found", remedy: str = "") -> dict[str, str]:
    return {"name": name, "status": status, "subject": subject, "found": found, "remedy": remedy}


def result(*checks: dict[str, str]) -> dict[str, Any]:
    red = any(each["status"] in ("failed", "unknown") for each in checks)
    return {"cluster_id": "c", "is_ready": not red, "checks": [*checks], "broker_losses": [LOSS], "rack_losses": [RACK]}


def test_failed_checks_come_first_and_similar_checks_are_merged() -> None:
    lacking = [check("permissions", "failed", f"playbook {name}", "ALTER is missing", "grant it") for name in "ab"]
    text = rendered(
        readiness_page.blocks(result(*lacking, check("java", "unknown", found="?"), check("clocks", "ok"))),
        100,
        color=False,
    )
    assert text.splitlines()[0] == "RED: 2 checks failed, 1 check could not be made; no warnings."
    assert "playbook a, playbook b: ALTER is missing" in text
    assert text.count("do: grant it") == 1
    assert "could not be found out: ?" in text
    assert text.index("Red") < text.index("Fine") < text.index("orders 0-1") < text.index("all brokers of a rack")


def test_one_cause_of_many_checks_is_printed_once() -> None:
    """Without a broker, 15 checks cannot be made. Their names are one entry, so that the cause stays in sight."""
    unmade = [
        check(name, "unknown", found="not read", remedy="see brokers") for name in ("quorum", "min_isr", "journal")
    ]
    text = rendered(readiness_page.blocks(result(check("brokers", "failed", found="no CA"), *unmade)), 100, color=False)
    assert text.splitlines()[0] == "RED: 1 check failed, 3 checks could not be made; no warnings."
    assert "not checked  quorum, min isr, journal: not read" in text
    assert text.count("do: see brokers") == 1


def test_a_warning_fails_the_task_only_if_requested() -> None:
    found = result(check("clocks", "ok"), check("class_archive", "warning"))
    assert readiness_page.verdict(found) == "GREEN: a recovery would work; 1 warning."
    assert not readiness_page.failure(found, "failed")
    assert readiness_page.failure(found, "warning") == "not ready for a recovery: class archive"


def test_an_unknown_result_fails() -> None:
    assert readiness_page.failure(result(check("journal", "unknown")), "failed") == "not ready for a recovery: journal"


def test_the_cause_and_what_to_do_are_shown_if_no_broker_answers() -> None:
    brokers = check("brokers", "failed", found="wrong realm", remedy="Set the realm")
    found = result(check("java", "ok"), brokers, check("quorum", "unknown"))
    text = readiness_page.failure(found | {"cluster_id": None}, "failed")
    assert text == "not ready for a recovery: wrong realm. Set the realm"
