# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a person reads of records that were given back."""

from __future__ import annotations

from typing import Any

from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import TopicPartition
from ansible_collections.kafkaops.recovery.plugins.module_utils._salvage.account import (
    Balance,
    build_account_result,
    build_accounts,
)
from ansible_collections.kafkaops.recovery.plugins.plugin_utils.rendering import rendered
from ansible_collections.kafkaops.recovery.plugins.plugin_utils.salvage_page import replay_blocks

UNKNOWN = Balance(None, 0, 0, None, 0)


def partition(number: int, status: str, **more: Any) -> dict[str, Any]:
    nothing = {"reason": "", "to_give": 0, "given": 0, "given_bytes": 0, "given_before": 0, "left_out": {}}
    return {"topic": "orders", "partition": number, "status": status, "target_topic": "x", **nothing, **more}


def printed(summary: dict[str, Any], *partitions: dict[str, Any]) -> str:
    counts: dict[str, Any] = {
        "saved": 350,
        "to_give": 0,
        "given": 0,
        "given_bytes": 0,
        "given_before": 0,
        "left_out": {},
    }
    counts |= summary
    balance = Balance(350, 350, counts["given"] + counts["given_before"], 0, 0)
    balances = {TopicPartition("orders", 0): balance, TopicPartition("orders", 2): UNKNOWN}
    result: dict[str, Any] = {
        "target": "side",
        "summary": {"statuses": {}, **counts},
        "partitions": list(partitions),
    }
    result["account"] = build_account_result(build_accounts(balances), 1000)
    return " ".join(rendered(replay_blocks(result), 200, color=False).split())


def test_what_was_given_back_and_what_was_left_out() -> None:
    text = printed(
        {"given": 230, "given_bytes": 4096, "given_before": 100, "left_out": {"aborted": 20}},
        partition(0, "given_back", given=230, given_bytes=4096, left_out={"aborted": 20}),
        partition(1, "nothing_left"),
        partition(2, "refused", reason="topic x is gone"),
    )
    verdict = "Of 350 saved records, 230 (4 KiB) were given back to side topics (TOPIC.salvaged), and 100 before"
    assert text.startswith(f"{verdict}; left out: 20 of aborted transactions. ")
    assert "refused: topic x is gone" in text
    assert "orders-1" not in text
    assert "230 records, 4 KiB, given back to x left out: 20 of aborted transactions" in text
    assert "Still lost: unknown for 1 of 2 partitions." in text
    assert "orders-2 - 0 0 - orders-0 350 350 330 0 all at least 350 350 330 -" in text


def test_what_would_be_given_back() -> None:
    text = printed(
        {"to_give": 5, "statuses": {"would_be_given_back": 1}}, partition(0, "would_be_given_back", to_give=5)
    )
    assert "Of 350 saved records, 5 would be given back to side topics (TOPIC.salvaged)." in text
    assert "5 records for x" in text


def test_a_partition_that_came_back_whole_stands_in_the_account_alone() -> None:
    counts = {"saved": 1, "given": 1, "given_bytes": 6}
    text = printed({**counts, "statuses": {"given_back": 1}}, partition(0, "given_back", given=1, given_bytes=6))
    assert text.startswith("Of 1 saved record, 1 (6 B) was given back to side topics (TOPIC.salvaged). ")
    assert "Partitions" not in text
