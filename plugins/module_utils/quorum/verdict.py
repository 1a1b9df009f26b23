# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What may be done to a cluster, given its quorum. Pure; standard library only. Unknown means no."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from ansible_collections.kafkaops.recovery.plugins.module_utils.model.quorum import QuorumState
from ansible_collections.kafkaops.recovery.plugins.module_utils.quorum.caught_up import caught_up_voters, lagging_voters
from ansible_collections.kafkaops.recovery.plugins.module_utils.quorum.finding import Kind
from ansible_collections.kafkaops.recovery.plugins.module_utils.quorum.findings import findings
from ansible_collections.kafkaops.recovery.plugins.module_utils.quorum.observation import Observation


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether something may be done, and every reason why not."""

    allowed: bool
    reasons: tuple[str, ...] = ()


def verdict(reasons: Iterable[str]) -> Verdict:
    """Allowed where there is no reason against it."""
    all_of_them = tuple(reasons)
    return Verdict(not all_of_them, all_of_them)


def may_elect(observation: Observation) -> Verdict:
    """Whether leaders of partitions may be elected, or anything else be asked of the controller, now."""
    return verdict(_against_elections(observation))


def may_restart(observation: Observation, node_id: int) -> Verdict:
    """Whether this controller may be stopped: a majority must be caught up without it."""
    return verdict(_against_restart(observation, node_id))


def cannot_commit(observation: Observation) -> Iterator[str]:
    """Why the quorum could not take a change now."""
    state = observation.state
    if state is None:
        yield f"no quorum: there is no leader that could be asked ({observation.silence})"
        return
    caught_up = caught_up_voters(observation)
    if len(caught_up) < state.majority:
        yield (
            f"no quorum: {len(caught_up)} of {len(state.voters)} voters are caught up ({_listed(caught_up)}), and "
            f"{state.majority} are needed; not caught up, or unknown: {_listed(lagging_voters(observation))}"
        )


def is_contested(observation: Observation) -> Iterator[str]:
    """Why it is not settled who leads the quorum."""
    for finding in findings(observation):
        if finding.kind is Kind.TWO_LEADERS:
            yield f"controllers {_listed(finding.node_ids)} both claim to lead"
        if finding.kind is Kind.EPOCH_CHURN:
            yield (
                f"the quorum's epoch rose from {finding.evidence['from_epoch']} to {finding.evidence['to_epoch']} "
                f"within {finding.evidence['window_ms']} ms: leadership is contested"
            )


def lacks_majority(state: QuorumState, caught_up: Iterable[int], voters: Iterable[int], event: str) -> Iterator[str]:
    """Why the voters that remain after an event could not commit: fewer than a majority of them is caught up."""
    remaining = set(voters)
    able = sorted(remaining & set(caught_up))
    needed = len(remaining) // 2 + 1
    if len(able) < needed:
        yield (
            f"{event}, {len(able)} of {len(remaining)} voters would be caught up ({_listed(able)}), and {needed} are "
            f"needed; not caught up, or unknown, now: "
            f"{_listed(sorted({each.replica_id for each in state.voters} - set(caught_up)))}"
        )


def _against_elections(observation: Observation) -> Iterator[str]:
    yield from cannot_commit(observation)
    yield from is_contested(observation)


def _against_restart(observation: Observation, node_id: int) -> Iterator[str]:
    refusals = [*cannot_commit(observation)]
    state = observation.state
    if refusals or state is None:
        yield from refusals
        yield from is_contested(observation)
        return
    voters = [each.replica_id for each in state.voters]
    if node_id not in voters:
        return  # The quorum does not need it.
    yield from is_contested(observation)
    able = [each for each in caught_up_voters(observation) if each != node_id]
    if len(able) < state.majority:
        yield (
            f"without controller {node_id}, {len(able)} of {len(voters)} voters are caught up ({_listed(able)}), and "
            f"{state.majority} are needed; not caught up, or unknown: {_listed(lagging_voters(observation))}"
        )


def _listed(node_ids: Iterable[int]) -> str:
    return ", ".join(map(str, node_ids)) or "none"
