# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Results as modules return them."""

from __future__ import annotations

from typing import Any

BROKERS: list[dict[str, Any]] = [
    {"broker_id": 1, "state": "unreachable", "cause": "no connection"},
    {"broker_id": 2, "state": "online", "cause": ""},
]


def a_candidate(broker_id: int, rank: int, **fields: Any) -> dict[str, Any]:
    return {
        "broker_id": broker_id,
        "rank": rank,
        "last_written_epoch": 6,
        "log_start_offset": 0,
        "log_end_offset": 150,
        "size_bytes": 11034,
        "flags": [],
        "explanation": f"rank {rank}: the longest log",
        **fields,
    }


def an_outcome(partition: int = 0, **fields: Any) -> dict[str, Any]:
    return {
        "topic": "orders",
        "partition": partition,
        "status": "recovered",
        "reason": "broker 3 holds the most",
        "designated_leader": 3,
        "leader_before": -1,
        "leader_after": 3,
        "leader_epoch_before": 7,
        "leader_epoch_after": 9,
        "replicas": [1, 2, 3],
        "candidates": [a_candidate(3, 1), a_candidate(2, 2, flags=["empty_log"])],
        "losses": [],
        "silent": [{"broker_id": 1, "cause": "unreachable", "error": "no connection"}],
        **fields,
    }
