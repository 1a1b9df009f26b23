# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Read the replicas of scenario files (scenarios/README.md has the format)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import Cause, PartitionState
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.candidate import (
    Candidate,
    Flag,
    SilentReplica,
    Standing,
    explain_ranks,
)
from unit.recovery.wreckage import a_candidate


def ranked_answers(
    state: PartitionState, replicas: Mapping[int, str | Mapping[str, Any]]
) -> tuple[list[Candidate], list[SilentReplica]]:
    """Return the replicas that answered, best first, and the others, from a scenario's ``replicas``."""
    assert sorted(replicas) == sorted(state.replicas)
    logs = [read_log(broker_id, each) for broker_id, each in replicas.items() if not isinstance(each, str)]
    logs.sort(key=lambda log: (-_epoch(log), -log.log_end_offset, state.replicas.index(log.broker_id)))
    explanations = explain_ranks(
        [Standing(log.broker_id, log.last_written_epoch, log.log_start_offset, log.log_end_offset, ()) for log in logs]
    )
    silent = [SilentReplica(key, Cause(each), "") for key, each in replicas.items() if isinstance(each, str)]
    return [
        replace(log, rank=rank, explanation=explanation, flags=_flags(log, state))
        for rank, (log, explanation) in enumerate(zip(logs, explanations, strict=True), start=1)
    ], silent


def read_log(broker_id: int, answer: Mapping[str, Any]) -> Candidate:
    """Return what one replica answered, not ranked yet."""
    return a_candidate(
        broker_id,
        *answer["epochs"].items(),
        log_start_offset=answer.get("start", 0),
        log_end_offset=answer.get("end"),
    )


def _flags(log: Candidate, state: PartitionState) -> tuple[Flag, ...]:
    return (Flag.FENCED,) if log.broker_id in state.offline_replicas else ()


def _epoch(log: Candidate) -> int:
    return -1 if log.last_written_epoch is None else log.last_written_epoch
