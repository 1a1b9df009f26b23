# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The elected leader and the loss, for each file in scenarios/decide (scenarios/README.md has the format)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from ansible_collections.kafkaops.recovery.plugins.module_utils._model.outage import Assumption, Estimate, ReplicaPast
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.decide import decide
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.outcome import outcome_of_left_alone
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.plan import LeftAlone, PlannedElection
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.strategy import Policy, ProofRule, Strategy
from unit.recovery.scenario import ranked_answers
from unit.recovery.wreckage import an_offline_partition

DIRECTORY = Path(__file__).parent / "scenarios" / "decide"
SCENARIOS = sorted(DIRECTORY.glob("*.yml"))


@pytest.mark.parametrize("path", SCENARIOS, ids=lambda path: path.stem)
def test_decision(path: Path) -> None:
    scenario = yaml.safe_load(path.read_text(encoding="utf-8"))
    for change in [{}, *scenario.get("same_with", [])]:
        state = an_offline_partition(**{**scenario["partition"], **change})
        candidates, silent = ranked_answers(state, scenario["replicas"])
        for expected in scenario["decisions"]:
            policy, designated = _policy(expected["policy"]), expected.get("designated")
            decision = decide(state, candidates, silent, policy, designated, pasts=_pasts(scenario))
            assert _described(decision, expected) == expected, f"with {change}: {_reason(decision)}"
            assert not [text for text in expected.get("no_reason", ()) if text in _reason(decision)]


def test_every_file_is_a_scenario() -> None:
    assert len(SCENARIOS) == len(list(DIRECTORY.iterdir())) > 0


def _pasts(scenario: Mapping[str, Any]) -> dict[int, ReplicaPast]:
    """Return what is known of replicas besides their logs. An estimate is [low, records, high]."""
    return {
        broker_id: ReplicaPast(
            lacks_seconds=past.get("lacks_seconds"),
            keeps_acks_all=past.get("keeps_acks_all"),
            assumptions=tuple(Assumption(each) for each in past.get("assumptions", ())),
            estimate=Estimate(past["estimate"][1], past["estimate"][0], past["estimate"][2], "by hand")
            if "estimate" in past
            else None,
        )
        for broker_id, past in scenario.get("pasts", {}).items()
    }


def _policy(policy: Mapping[str, Any]) -> Policy:
    rule = ProofRule(policy.get("proof_rule", ProofRule.IGNORE))
    return Policy(**{**policy, "strategy": Strategy(policy["strategy"]), "proof_rule": rule})


def _described(decision: PlannedElection | LeftAlone, expected: Mapping[str, Any]) -> dict[str, Any]:
    """Return the decision in the scenario's format, with the keys that the scenario has."""
    found = {key: expected[key] for key in ("policy", "designated") if key in expected}
    if isinstance(decision, PlannedElection):
        found["elect"] = f"{decision.election_type} {decision.designated_leader}"
    else:
        found["leave"] = decision.status.value
    optional: Mapping[str, Sequence[Any]] = {
        "ranking": [each.broker_id for each in decision.candidates],
        "loss": [f"{each.at_least} to {_bound(each.at_most)}" for each in decision.losses],
        "reason": [text for text in expected.get("reason", ()) if text in _reason(decision)],
        "no_reason": expected.get("no_reason", ()),
    }
    return found | {key: value for key, value in optional.items() if key in expected}


def _reason(decision: PlannedElection | LeftAlone) -> str:
    return decision.explained if isinstance(decision, PlannedElection) else outcome_of_left_alone(decision).reason


def _bound(records: int | None) -> str:
    return "unknown" if records is None else str(records)
