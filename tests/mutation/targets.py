# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The mutated files, the tests that must detect the mutants, and the mutants that no test can detect."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

OPERATORS = frozenset(
    f"core/{name}"
    for name in (
        "AddNot",
        "NumberReplacer",
        "ReplaceAndWithOr",
        "ReplaceBinaryOperator_Add_Sub",
        "ReplaceBinaryOperator_BitAnd_BitOr",
        "ReplaceBinaryOperator_Sub_Add",
        "ReplaceComparisonOperator_Eq_NotEq",
        "ReplaceComparisonOperator_Gt_GtE",
        "ReplaceComparisonOperator_GtE_Gt",
        "ReplaceComparisonOperator_Is_IsNot",
        "ReplaceComparisonOperator_IsNot_Is",
        "ReplaceComparisonOperator_Lt_LtE",
        "ReplaceComparisonOperator_LtE_Lt",
        "ReplaceComparisonOperator_NotEq_Eq",
        "ReplaceFalseWithTrue",
        "ReplaceOrWithAnd",
        "ReplaceTrueWithFalse",
        "ReplaceUnaryOperator_Delete_Not",
        "ZeroIterationForLoop",
    )
)


@dataclass(frozen=True)
class Target:
    """The tests of a file."""

    tests: tuple[str, ...]
    equivalent: tuple[str, ...] = ()
    """Changed lines with the same behavior, each with the reason."""

    def is_equivalent(self, diff: str) -> bool:
        """Return whether no test can detect a mutant's changed line."""
        return any(_has(diff, each) for each in (_DATACLASS, *self.equivalent))

    def unmatched(self, diffs: Collection[str]) -> tuple[str, ...]:
        """Return the listed lines that none of these mutants has, because the code or the line has changed."""
        return tuple(each for each in self.equivalent if not any(_has(diff, each) for diff in diffs))


def _has(diff: str, line: str) -> bool:
    return f"+{line}".replace(" ", "") in diff.replace(" ", "")


_DATACLASS = "@dataclass("
"""frozen and slots only prevent code that type checkers refuse, too."""
_ELECTIONS = (
    "tests/unit/recovery/test_preconditions.py",
    "tests/unit/recovery/test_apply_scenarios.py",
    "tests/unit/recovery/test_pending_election.py",
    "tests/unit/recovery/test_election_faults.py",
    "tests/unit/recovery/test_elections_in_topic.py",
    "tests/unit/recovery/test_designated_election.py",
    "tests/unit/recovery/test_unregistered.py",
)
_ELECTION_RUNS = (
    "tests/unit/recovery/test_apply_scenarios.py",
    "tests/unit/recovery/test_election_faults.py",
    "tests/unit/recovery/test_elections_meanwhile.py",
    "tests/unit/recovery/test_unregistered.py",
    "tests/unit/recovery/test_designated_election.py",
    "tests/unit/recovery/test_election_stops.py",
    "tests/unit/recovery/test_election_pace.py",
)
_DECISIONS = (
    "tests/unit/recovery/test_decide_scenarios.py",
    "tests/unit/recovery/test_pending_election.py",
    "tests/unit/recovery/test_judged_again.py",
    "tests/unit/recovery/test_apply_scenarios.py",
    "tests/unit/recovery/test_dangers.py",
    "tests/unit/recovery/test_earlier_orders.py",
    "tests/unit/recovery/test_next_way.py",
    "tests/unit/recovery/test_offline_dirs.py",
    "tests/unit/recovery/test_proven_by_others.py",
    "tests/unit/recovery/test_recorded.py",
    "tests/unit/recovery/test_reused_epochs.py",
)
_HISTORY = "plugins/module_utils/_history"
_RECOVERY = "plugins/module_utils/_recovery"
_SALVAGE = "plugins/module_utils/_salvage"

TARGETS = {
    f"{_RECOVERY}/preconditions.py": Target(
        _ELECTIONS,
        (
            "_NO_EPOCH = - 2",  # any number below 0 comes before every epoch
            "prediction = predict(state, order, acceptable, unclean=True)",  # an unclean rule is refused next
            "return (_NO_EPOCH if epoch is None else epoch, log.log_end_offset or -1)",  # for both logs alike
        ),
    ),
    f"{_RECOVERY}/candidate.py": Target(
        (
            "tests/unit/recovery/test_candidate_in_plan.py",
            "tests/unit/recovery/test_explanation.py",
            "tests/unit/recovery/test_offline_dirs.py",
            "tests/unit/recovery/test_ranking.py",
            "tests/unit/recovery/test_reused_epochs.py",
            "tests/unit/recovery/test_sort_keys.py",
        ),
        (
            "for rank, (reason, one) in enumerate(zip(reasons, standings, strict=False), start=1)",  # one reason each
            # a shortcut: the stretches are compared without it
            "if log is best and (log.lineage == best.lineage and log.log_start_offset >= best.log_start_offset):",
            "if log is best or (log.lineage == best.lineage and log.log_start_offset > best.log_start_offset):",
        ),
    ),
    f"{_RECOVERY}/election_batch.py": Target(
        _ELECTION_RUNS,
        (
            "return -1.0 if self.stop.is_set() else",  # who watches for less than no time looks once, too
            "if remaining >= 0:",  # at that very moment a request may be executed or not
        ),
    ),
    f"{_RECOVERY}/decide.py": Target(
        _DECISIONS,
        (
            # of a member of the ELR that is acceptable: it comes before anybody who would lead uncleanly
            "leader = predict(self.state, self.state.replicas, self.acceptable, unclean=True).leader_id",
        ),
    ),
    f"{_RECOVERY}/decide_again.py": Target(
        _DECISIONS,
        (
            # all are ranked next, and get the rank that they have among the others
            "rank= 0,",
            "rank= 2,",
            # one explanation a candidate
            "for number, (one, explanation) in enumerate(zip(standings, explain_ranks(standings), strict=False),",
        ),
    ),
    f"{_RECOVERY}/forecast.py": Target(
        (
            "tests/unit/recovery/test_forecast.py",
            "tests/unit/recovery/test_tier.py",
            "tests/unit/recovery/test_decide_scenarios.py",
            "tests/unit/recovery/test_reused_epochs.py",
        ),
        (
            "return members[ -1] if len(members) == 1 else None",  # the first is the last of one
            # all of these have one entry a candidate
            "whole = next((log for log, each in zip(logs, candidates, strict=False) if",
            "for one, against, part in zip(candidates, all_against, lost, strict=False)",
        ),
    ),
    "plugins/module_utils/_leadership/decide.py": Target(
        ("tests/unit/leadership/test_decide.py",),
    ),
    "plugins/module_utils/_cleaner/diagnosis.py": Target(("tests/unit/cleaner/test_diagnosis.py",)),
    "plugins/module_utils/_changes/sender.py": Target(
        (
            "tests/unit/changes/test_writes.py",
            "tests/unit/changes/test_doubt.py",
            "tests/unit/changes/test_until_seen.py",
        )
    ),
    "plugins/module_utils/_leadership/orders.py": Target(
        (
            "tests/unit/leadership/test_decide.py",
            "tests/unit/leadership/test_history.py",
            "tests/unit/leadership/test_memory.py",
            "tests/unit/leadership/test_orders.py",
            "tests/unit/leadership/test_moves.py",
            "tests/unit/leadership/test_order_run.py",
        )
    ),
    f"{_HISTORY}/promise.py": Target(
        (
            "tests/unit/history/test_promise.py",
            "tests/unit/history/test_clocks.py",
            "tests/unit/history/test_host_boots.py",
            "tests/unit/history/test_times.py",
        )
    ),
    f"{_HISTORY}/min_isr.py": Target(("tests/unit/history/test_min_isr.py", "tests/unit/history/test_promise.py")),
    f"{_SALVAGE}/held_again.py": Target(("tests/unit/salvage/test_held_again.py",)),
    f"{_SALVAGE}/markers.py": Target(("tests/unit/salvage/test_markers.py", "tests/unit/salvage/test_rows.py")),
}
