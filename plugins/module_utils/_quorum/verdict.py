# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Everything that is wrong with a quorum. Pure; standard library only.

What may be done to a cluster, given its quorum. Pure; standard library only. Unknown means no.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from .._model.quorum import QuorumState
from .disruption import disruption
from .finding import Finding, Kind, Severity
from .liveness import liveness
from .observation import Observation, caught_up_voters, lagging_voters
from .shape import shape

_ORDER = list(Severity)


def findings(observation: Observation) -> tuple[Finding, ...]:
    """Return all findings, the most severe first; none for a healthy quorum."""
    found = [*liveness(observation), *disruption(observation)]
    found += shape(observation, found)
    return tuple(sorted(found, key=lambda each: _ORDER.index(each.severity)))


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether something may be done, and every reason why not."""

    allowed: bool
    reasons: tuple[str, ...] = ()


def verdict(reasons: Iterable[str]) -> Verdict:
    """Return a verdict that allows the action where there is no reason against it."""
    all_of_them = tuple(reasons)
    return Verdict(not all_of_them, all_of_them)


def may_elect(observation: Observation) -> Verdict:
    """Judge whether elections, or any other write, may be requested from the controller now."""
    return verdict(_against_elections(observation))


def may_restart(observation: Observation, node_id: int) -> Verdict:
    """Judge whether this controller may be stopped: a majority must be caught up without it."""
    return verdict(_against_restart(observation, node_id))


def cannot_commit(observation: Observation) -> Iterator[str]:
    """Yield the reasons why the quorum could not commit a change now."""
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
    """Yield the reasons why the quorum's leadership is contested."""
    for finding in findings(observation):
        if finding.kind is Kind.TWO_LEADERS:
            yield f"controllers {_listed(finding.node_ids)} both claim to lead"
        if finding.kind is Kind.EPOCH_CHURN:
            yield (
                f"the quorum's epoch rose from {finding.evidence['from_epoch']} to {finding.evidence['to_epoch']} "
                f"within {finding.evidence['window_ms']} ms: leadership is contested"
            )


def lacks_majority(state: QuorumState, caught_up: Iterable[int], voters: Iterable[int], event: str) -> Iterator[str]:
    """Yield why the voters that remain after an event could not commit: no majority of them is caught up."""
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
