# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a person reads of log cleaners."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.kafkaops.recovery.plugins.plugin_utils import cleaner_page
from ansible_collections.kafkaops.recovery.plugins.plugin_utils.rendering import rendered


def a_broker(broker_id: int, diagnosis: str, **others: Any) -> dict[str, Any]:
    return {
        "broker_id": broker_id,
        "diagnosis": diagnosis,
        "reason": f"because of \x1b{broker_id}",
        "is_inferred": False,
        "threads": 2,
        "dead_threads": 0,
        "time_since_last_run_ms": 15,
        "log_dirs": [{"log_dir": "/d", "uncleanable_partitions": 1, "uncleanable_bytes": None}],
        "suspects": [],
        **others,
    }


BEFORE = {"brokers": [a_broker(1, "dead_threads", dead_threads=2), a_broker(2, "uncleanable_partitions")]}
AFTER = {
    "brokers": [
        a_broker(1, "idle"),
        a_broker(
            2,
            "uncleanable_partitions",
            is_inferred=True,
            log_dirs=[],
            dead_threads=None,
            suspects=[{"topic": "[red]", "partition": 0, "size_bytes": 2048, "reason": "it is large"}],
        ),
    ]
}
RESTART = {
    "outcomes": [
        {"broker_id": 1, "status": "restarted", "reason": "no thread is dead"},
        {"broker_id": 3, "status": "not_needed", "reason": "it runs"},
    ],
    "leftovers": [{"change": "log.cleaner.backoff.ms of broker 3", "undoing": "restored", "reason": "back"}],
}
REPAIR = {
    "outcomes": [
        {
            "topic": "t",
            "partition": 0,
            "broker_id": 2,
            "status": "failed",
            "reason": "too slow",
            "size_before": 2048,
            "size_after": 1024,
        }
    ],
    "unidentified_marks": ["one more"],
}


@pytest.mark.parametrize("width", [80, 120, 200])
def test_the_text(width: int) -> None:
    text = rendered(cleaner_page.blocks(BEFORE, RESTART, REPAIR, AFTER), width, color=False)
    assert max(map(len, text.splitlines())) <= width
    words = " ".join(text.split())
    assert words.startswith(
        "Log cleaners: 1 of 2 healthy or idle; 1 uncleanable partitions?; 1 restart restarted; 1 repair failed. "
        "Changes earlier run's log.cleaner.backoff.ms of broker 3 restored: back "
        "restart broker 1 restarted: no thread is dead "
        "repair t-0 on broker 2 failed (2 KiB → 1 KiB): too slow one more Log cleaners "
    )
    assert "1 dead threads → idle 2 0 15 1" in words
    assert "2 uncleanable partitions → " in words
    assert "because of ?2; suspicious: [red]-0 with 2 KiB: it is large" in words


def test_what_fails_the_play() -> None:
    failure = cleaner_page.failure(RESTART, REPAIR, AFTER, fail_on_unhealthy=True)
    assert failure == (
        "of the restarts and repairs, 1 failed; not healthy: broker 2 (uncleanable partitions?); the reasons are above"
    )
    assert cleaner_page.failure(RESTART, {}, AFTER, fail_on_unhealthy=False) == ""


def test_a_restart_that_was_not_tried_is_not_counted_as_one() -> None:
    outcomes = [
        {"broker_id": 1, "status": "not_helped", "reason": "a replica is marked"},
        {"broker_id": 2, "status": "unknown", "reason": "no metrics"},
    ]
    after = {"brokers": [a_broker(1, "uncleanable_partitions"), a_broker(2, "unknown")]}
    text = cleaner_page.verdict({"outcomes": outcomes}, {}, after)
    assert "1 broker not restarted, because a restart does not help" in text
    assert "1 broker not restarted, because the state is unknown" in text
    assert "1 restart" not in text


@pytest.mark.parametrize(
    ("diagnosis", "repair", "is_named"),
    [
        ("uncleanable_partitions", {"skipped": True}, True),
        ("uncleanable_partitions", {"outcomes": []}, False),
        ("dead_threads", {}, False),
    ],
)
def test_the_repair_is_named_if_it_was_not_asked_for(diagnosis: str, repair: dict[str, Any], is_named: bool) -> None:
    before = {"brokers": [a_broker(1, diagnosis)]}
    shown = " ".join(rendered(cleaner_page.blocks(before, {}, repair, before), 200, color=False).split())
    assert ("--check -e log_cleaner_recovery_repair_uncleanable=true" in shown) == is_named
