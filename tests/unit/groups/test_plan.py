# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A reviewed plan for groups: its file, and what of it still holds for the cluster."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._documents.errors import DocumentError
from ansible_collections.kafkaops.recovery.plugins.module_utils._groups.divergence import PresentLog
from ansible_collections.kafkaops.recovery.plugins.module_utils._groups.give_back import foresee_commit
from ansible_collections.kafkaops.recovery.plugins.module_utils._groups.look import GroupLook
from ansible_collections.kafkaops.recovery.plugins.module_utils._groups.options import (
    GroupOptionsError,
    require_same_wish,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._groups.plan import (
    CommitStatus,
    GroupPlan,
    UnknownCommits,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._groups.plan_file import (
    GROUP_PLAN_FILE,
    write_undo_file,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._groups.present import PresentGroups
from ansible_collections.kafkaops.recovery.plugins.module_utils._groups.results import RestoredGroups, results_of
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.groups import Commit, GroupCommits
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.offset_records import SavedCommits
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import TopicPartition
from unit.groups.a_step import STEP

_TOPIC_ID = STEP.topic_id
_PLAN = GroupPlan(
    cluster_id="abc",
    created_at="2026-01-31T23:59:59Z",
    salvage_ids=(),
    commits=(STEP,),
    read_to=(),
    transactions=(),
    unknown=(),
    notes=(),
)
_NAME = TopicPartition("orders", 0)


def _log(start: int, end: int) -> PresentLog:
    return PresentLog(start, end, lambda _epoch: end, topic_id=_TOPIC_ID, leader_epoch=5)


def test_a_plan_is_read_as_it_was_written(tmp_path: Path) -> None:
    path = str(tmp_path / "plan.json")
    digest = GROUP_PLAN_FILE.write(_PLAN, path)
    assert GROUP_PLAN_FILE.read(path, digest) == _PLAN
    with pytest.raises(DocumentError, match="was approved"):
        GROUP_PLAN_FILE.read(path, "sha256:" + "0" * 64)


def test_an_edited_plan_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    GROUP_PLAN_FILE.write(_PLAN, str(path))
    path.write_text(path.read_text("utf-8").replace('"target": 50', '"target": 60'), "utf-8")
    with pytest.raises(DocumentError, match="changed after its digest"):
        GROUP_PLAN_FILE.read(str(path))


def test_an_undo_file_never_replaces_another(tmp_path: Path) -> None:
    path = str(tmp_path / "before.csv")
    assert [write_undo_file(path, [STEP]), write_undo_file(path, [])] == [path, f"{path}-2"]
    assert Path(path).read_text("utf-8") == "billing,orders,0,20\n"


@pytest.mark.parametrize(
    ("committed", "log", "state", "error", "expected"),
    [
        (20, _log(0, 90), "Empty", "", CommitStatus.WOULD_GIVE_BACK),
        (50, _log(0, 90), "Empty", "", CommitStatus.DONE_BEFORE),
        (30, _log(0, 90), "Empty", "", CommitStatus.CHANGED),
        (20, _log(0, 40), "Empty", "", CommitStatus.CHANGED),
        (20, _log(60, 90), "Empty", "", CommitStatus.CHANGED),
        (20, None, "Empty", "", CommitStatus.UNKNOWN),
        (20, _log(0, 90), "Stable", "", CommitStatus.HAS_MEMBERS),
        (20, _log(0, 90), "", "", CommitStatus.HAS_MEMBERS),
        (20, _log(0, 90), "Empty", "NOT_COORDINATOR", CommitStatus.UNKNOWN),
    ],
)
def test_a_plan_is_compared_with_the_cluster(
    committed: int, log: PresentLog | None, state: str, error: str, expected: CommitStatus
) -> None:
    present = PresentGroups({"billing": state}, commits={"billing": GroupCommits({_NAME: Commit(committed)}, error)})
    found = GroupLook(present, topic_ids={}, leaders={}, offline=(), logs={} if log is None else {_NAME: log})
    assert foresee_commit(STEP, found).status is expected


def test_an_offset_that_is_gone_since_the_plan_is_said_in_words() -> None:
    present = PresentGroups({"billing": "Empty"}, commits={"billing": GroupCommits({})})
    found = GroupLook(present, topic_ids={}, leaders={}, offline=(), logs={_NAME: _log(0, 90)})
    why = "its committed offset is none now, and was 20 in the plan: make the plan again"
    assert foresee_commit(STEP, found).reason.startswith(why)


@pytest.mark.parametrize(
    ("committed", "topic_id", "end_of_epoch", "is_reviewed", "expected"),
    [
        pytest.param(20, _TOPIC_ID, 50, True, CommitStatus.WOULD_GIVE_BACK, id="a clean election since"),
        pytest.param(20, _TOPIC_ID, 49, True, CommitStatus.CHANGED, id="an election since lost a record before it"),
        pytest.param(None, _TOPIC_ID, 49, True, CommitStatus.CHANGED, id="the same, and the group has no offset"),
        pytest.param(None, "BBBBBBBBBBBBBBBBBBBBBg", 90, True, CommitStatus.CHANGED, id="the topic is another one"),
        pytest.param(20, _TOPIC_ID, None, False, CommitStatus.WOULD_GIVE_BACK, id="planned by this look"),
    ],
)
def test_a_reviewed_plan_holds_only_for_the_log_that_it_is_about(
    committed: int | None, topic_id: str, end_of_epoch: int | None, is_reviewed: bool, expected: CommitStatus
) -> None:
    step = replace(STEP, committed=committed)
    ends = {} if end_of_epoch is None else {step.leader_epoch: end_of_epoch}
    log = PresentLog(0, 90, ends.__getitem__, topic_id=topic_id, leader_epoch=6)
    # The log of another topic is not asked for.
    logs = {_NAME: log} if topic_id == _TOPIC_ID else {}
    commits = {} if committed is None else {_NAME: Commit(committed)}
    present = PresentGroups({"billing": "Empty"}, commits={"billing": GroupCommits(commits)})
    found = GroupLook(present, topic_ids={"orders": topic_id}, leaders={}, offline=(), logs=logs)
    assert foresee_commit(step, found, is_reviewed=is_reviewed).status is expected


def test_what_is_given_beside_a_plan_must_be_what_the_plan_is_of() -> None:
    plan = replace(_PLAN, salvage_ids=("of-broker-1", "of-broker-2"))
    ours, other = SavedCommits(salvage_ids=plan.salvage_ids), SavedCommits(salvage_ids=("of-broker-2",))
    require_same_wish(plan, None, None)
    require_same_wish(plan, frozenset({"billing", "shipping"}), ours)
    with pytest.raises(GroupOptionsError) as refused:
        require_same_wish(plan, frozenset({"shipping"}), other)
    assert str(refused.value).splitlines() == [
        "salvage_dir has salvage of-broker-2, but the plan is of of-broker-1, of-broker-2",
        "the plan also has groups that were not asked for: billing",
        "Leave this out, or make a new plan",
    ]


def test_a_message_says_how_many_groups_it_leaves_out() -> None:
    plan = replace(_PLAN, commits=(), unknown=(UnknownCommits(tuple("abcde"), "no leader"),))
    found = results_of(RestoredGroups(plan=plan, outcomes=(), transactions=()), 10, is_look=True)
    assert "a, b, c and 2 more: no leader" in found["msg"]
