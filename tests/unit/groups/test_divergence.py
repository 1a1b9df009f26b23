# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A leader epoch that a client does not keep moves no group, and nothing is moved forward past what is not known."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._groups.decide import (
    CommitDecision,
    Since,
    decide_commit,
    decide_share_start,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._groups.divergence import (
    LostTail,
    LostTails,
    PresentLog,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._groups.plan import CommitNeed
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.groups import Commit
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import TopicPartition

_NAME = TopicPartition("orders", 0)
_END = 6_000
_SAVED_SINCE_MS = 50_000
_SILENT = LostTails(missing="no controller answers")
_CLEAN = LostTails()
_EARLIER = LostTails((LostTail(4, 40_000, 3_000),))
_RECENT = LostTails((LostTail(9, 60_000, 5_950),))


def _log(
    lost: LostTails = _CLEAN, first_lost: int | None = None, former: Collection[int] = (), start: int = 0
) -> PresentLog:
    """Epoch 0 ends at 1000, and each further epoch 500 later."""
    ends = [1_000 + 500 * each for each in range(10)]

    def end_of(epoch: int) -> int:
        return ends[epoch] if epoch < len(ends) else _END

    return PresentLog(start, _END, end_of, first_lost, None, former, lost, _SAVED_SINCE_MS, topic_id="", leader_epoch=9)


def _decide(now: Commit | None, saved: Commit | None, log: PresentLog, *, overwrites: bool = False) -> CommitDecision:
    return decide_commit("billing", _NAME, now, saved, log, overwrites=overwrites)


def _target(decision: CommitDecision) -> int | None:
    return decision.step.target if decision.step else None


def test_an_old_epoch_moves_no_commit_of_a_partition_without_an_unclean_election() -> None:
    assert _decide(Commit(5_000, 0), None, _log()) == CommitDecision()


def test_an_old_epoch_moves_a_commit_only_to_what_an_unclean_election_lost() -> None:
    assert _target(_decide(Commit(5_980, 0), None, _log(_RECENT))) == 5_950
    assert _decide(Commit(5_000, 0), None, _log(_RECENT)) == CommitDecision()


def test_an_old_epoch_moves_no_commit_below_what_the_salvage_holds() -> None:
    log = _log(_SILENT, first_lost=5_950)
    assert _decide(Commit(5_000, 0), None, log) == CommitDecision()
    assert _target(_decide(Commit(5_980, 0), None, log)) == 5_950
    assert _target(_decide(Commit(4_000, 0), Commit(5_980, 0), log)) == 5_950


def test_an_old_epoch_is_named_if_nobody_knows_of_unclean_elections() -> None:
    step, doubt = _decide(Commit(5_000, 0), None, _log(_SILENT))
    assert step is None
    assert doubt == (
        "its leader epoch 0 ends at 1000, unless its client does not keep it: whether an unclean election lost records "
        "that it had read is not known: no controller answers. To set it to 1000, name the group in overwrite_groups"
    )


def test_the_operator_s_word_moves_a_commit_that_is_in_doubt() -> None:
    step, doubt = _decide(Commit(5_000, 0), None, _log(_SILENT), overwrites=True)
    assert (step and (step.need, step.target), doubt) == ((CommitNeed.OTHER_RECORDS, 1_000), "")


def test_an_offset_beyond_the_log_end_is_moved_by_its_epoch_alone() -> None:
    assert _target(_decide(Commit(7_000, 3), None, _log(_SILENT))) == 2_500


@pytest.mark.parametrize("saved", [Commit(5_000), Commit(5_000, 0)])
@pytest.mark.parametrize(
    ("lost", "expected"),
    [
        (_CLEAN, 5_000),
        (_EARLIER, 5_000),
        (LostTails((LostTail(9, 60_000, 4_800),)), 4_800),
        (LostTails(begins_at_ms=_SAVED_SINCE_MS), 5_000),
        (LostTails(begins_at_ms=_SAVED_SINCE_MS + 1), None),
        (_SILENT, None),
    ],
)
def test_a_saved_commit_is_used_if_it_is_known_what_was_lost_since(
    saved: Commit, lost: LostTails, expected: int | None
) -> None:
    decision = _decide(Commit(4_000), saved, _log(lost))
    assert (_target(decision), not decision.doubt) == (expected, expected is not None)


def test_a_saved_commit_in_doubt_is_named_with_what_to_do() -> None:
    _step, doubt = _decide(Commit(140), Commit(200), _log(_SILENT))
    assert doubt == (
        "the salvage has a commit at 200, but it has no leader epoch: whether an unclean election lost records that it "
        "had read is not known: no controller answers. To set it to 200, name the group in overwrite_groups"
    )
    assert _target(_decide(Commit(140), Commit(200), _log(_SILENT), overwrites=True)) == 200


def test_a_saved_commit_beyond_the_log_end_is_never_cut_to_the_log_end() -> None:
    step, doubt = _decide(Commit(140), Commit(7_000), _log())
    assert step is None
    assert "it is beyond the log end, 6000: give beyond_end_time" in doubt
    assert _decide(Commit(140), Commit(7_000), _log(), overwrites=True).step is None


def test_a_saved_commit_in_doubt_that_is_not_higher_is_of_no_interest() -> None:
    assert _decide(Commit(200), Commit(200), _log(_SILENT)) == CommitDecision()


def test_a_saved_start_offset_of_a_share_group_in_doubt_is_named() -> None:
    for now in (None, Commit(140)):
        step, doubt = decide_share_start("queue", _NAME, now, Commit(200), _log(_SILENT))
        assert step is None
        assert "no controller answers" in doubt
        step, _doubt = decide_share_start("queue", _NAME, now, Commit(200), _log(_SILENT), overwrites=True)
        assert step is not None
        assert step.target == 200


def test_a_commit_of_a_former_topic_beyond_the_log_end_is_set_to_the_log_start() -> None:
    step, doubt = _decide(Commit(7_000, 12), None, _log(former=[12], start=7))
    assert not doubt
    assert step is not None
    assert (step.need, step.target) == (CommitNeed.BEYOND_END, 7)
    assert "leader epoch 12 is above every one of this topic: it is of a former one" in step.reason


def test_a_commit_that_may_be_of_a_former_topic_is_named_if_it_is_in_the_log() -> None:
    log = _log(former=[12], start=7)
    step, doubt = _decide(Commit(5_000, 12), None, log)
    assert step is None
    assert doubt == (
        "leader epoch 12 is above every one of this topic: it is of a former topic of this name, or its client does "
        "not keep it. To set it to 7, name the group in overwrite_groups"
    )
    assert _target(_decide(Commit(5_000, 12), None, log, overwrites=True)) == 7


def test_an_offset_of_unknown_outcome_is_named_until_the_operator_does_without_it() -> None:
    def decide(now: Commit | None, saved: Commit | None, since: Since | None = None, **more: bool) -> Any:
        return decide_commit("billing", _NAME, now, saved, _log(), since, **more, unsettled=200)

    expected = CommitDecision(
        None,
        "the salvage has a commit at 200 in a transaction whose outcome is not known. To do without it, name the group "
        "in overwrite_groups",
    )
    assert decide(None, None) == decide(Commit(50), Commit(100)) == expected
    assert _target(decide(Commit(50), Commit(100), overwrites=True)) == 100
    assert decide(Commit(200), Commit(100)) == CommitDecision()
    assert decide(Commit(150), Commit(100), Since("the group has committed")) == CommitDecision()
