# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a person reads of log cleaners."""

from __future__ import annotations

import re
from typing import Any

import pytest

from ansible_collections.kafkaops.recovery.plugins.plugin_utils import log_cleaner_table
from ansible_collections.kafkaops.recovery.plugins.plugin_utils import log_cleaner_wording as wording

_ESCAPE = re.compile(r"\x1b\[[0-9;]*m")


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
    "untold": ["one more"],
}


def test_rows_have_both_cases_and_the_numbers_of_the_end() -> None:
    assert [*wording.broker_rows(BEFORE, AFTER)] == [
        ("1", "dead threads", "idle", "2", "0", "15", "1"),
        ("2", "uncleanable partitions", "uncleanable partitions?", "2", "-", "15", "-"),
    ]


def test_lines() -> None:
    assert [*wording.reason_lines(AFTER)] == [
        "broker 2: uncleanable partitions?: because of ?2",
        "  suspicious: [red]-0 with 2 KiB: it is large",
    ]
    assert [*wording.action_lines(RESTART, REPAIR)] == [
        "an earlier run's log.cleaner.backoff.ms of broker 3: restored: back",
        "broker 1: restart: restarted: no thread is dead",
        "t-0 on broker 2: repair: failed (2 KiB → 1 KiB): too slow",
        "one more",
    ]


def test_what_fails_the_play() -> None:
    failed = wording.failure(RESTART, REPAIR, AFTER, fail_on_unwell=True)
    assert failed == "1 restarts or repairs failed; not well: broker 2 (uncleanable partitions?); the reasons are above"
    assert wording.failure(RESTART, {}, AFTER, fail_on_unwell=False) == ""


@pytest.mark.parametrize("width", [79, 120])
def test_the_table_fits(width: int) -> None:
    text = _ESCAPE.sub("", log_cleaner_table.broker_table(BEFORE, AFTER, width))
    assert max(map(len, text.splitlines())) <= width
    assert "dead threads" in text
