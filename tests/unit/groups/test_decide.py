# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Where a group continues after an unclean election."""

from __future__ import annotations

import struct

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._groups.decide import (
    decide_commit,
    decide_share_start,
    find_of_former_topics,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._groups.divergence import (
    LostTail,
    LostTails,
    PresentLog,
    TimeOffset,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._groups.plan import CommitNeed
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.groups import Commit
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.offset_records import parse_commit
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import TopicPartition

_NAME = TopicPartition("orders", 0)
_START, _CUT, _END = 10, 80, 90
"""Epoch 3 was lost from offset 80 on; epoch 4 has written up to 90 since."""
_SILENT = LostTails(missing="no controller answers")
_CLEAN = LostTails()
_UNCLEAN = LostTails((LostTail(4, 1_000, _CUT),))


def _log(first_lost: int | None = None, at_time: int | None = None, lost: LostTails = _UNCLEAN) -> PresentLog:
    place = None if at_time is None else TimeOffset("2026-01-31T02:00:00Z", at_time)
    return PresentLog(
        _START,
        _END,
        lambda epoch: _CUT if epoch < 4 else _END,
        first_lost,
        place,
        lost=lost,
        topic_id="",
        leader_epoch=5,
    )


@pytest.mark.parametrize(
    ("now", "saved", "first_lost", "expected"),
    [
        (Commit(50, 3), None, None, None),
        (Commit(50), None, None, None),
        (Commit(90, 4), Commit(200, 3), None, None),
        (Commit(5, 3), None, None, (CommitNeed.BELOW_START, 10, -1, "")),
        (Commit(5), None, None, (CommitNeed.BELOW_START, 10, -1, "")),
        (Commit(5, 3), Commit(50, 3, "m"), None, (CommitNeed.BELOW_START, 50, 3, "m")),
        (Commit(20, 3), Commit(50, 3, "m"), None, (CommitNeed.WENT_BACK, 50, 3, "m")),
        (None, Commit(50, 3), None, (CommitNeed.WENT_BACK, 50, 3, "")),
        (Commit(50, 3), Commit(20, 3), None, None),
        (Commit(20, 3), Commit(85, 3, "m"), None, (CommitNeed.WENT_BACK, 80, -1, "")),
        (Commit(20), Commit(200), 70, (CommitNeed.WENT_BACK, 70, -1, "")),
        (Commit(20), Commit(200), None, (CommitNeed.WENT_BACK, 80, -1, "")),
        (None, Commit(200), None, (CommitNeed.WENT_BACK, 80, -1, "")),
        (Commit(20), Commit(85), None, (CommitNeed.WENT_BACK, 80, -1, "")),
        (None, Commit(5, 3), None, (CommitNeed.WENT_BACK, 10, -1, "")),
        (Commit(200, 3), None, None, (CommitNeed.BEYOND_END, 80, -1, "")),
        (Commit(200), None, None, (CommitNeed.BEYOND_END, 90, -1, "")),
        (Commit(200), None, 70, (CommitNeed.BEYOND_END, 70, -1, "")),
        (Commit(85, 3), None, None, (CommitNeed.OTHER_RECORDS, 80, -1, "")),
        (Commit(85, 3), Commit(88, 3), None, (CommitNeed.OTHER_RECORDS, 80, -1, "")),
    ],
)
def test_a_group_reads_every_record_that_it_has_not_read(
    now: Commit | None,
    saved: Commit | None,
    first_lost: int | None,
    expected: tuple[CommitNeed, int, int, str] | None,
) -> None:
    step, doubt = decide_commit("billing", _NAME, now, saved, _log(first_lost))
    assert not doubt
    assert (step and (step.need, step.target, step.target_epoch, step.target_metadata)) == expected


@pytest.mark.parametrize(
    ("now", "saved", "first_lost", "at_time", "expected"),
    [
        (Commit(200), None, None, 60, 60),
        (Commit(200), None, None, 5, _START),
        (Commit(200), None, None, 95, _END),
        (Commit(200, 3), None, None, 60, _CUT),
        (Commit(200), None, 70, 60, 70),
        (Commit(85), None, None, 60, None),
        (Commit(85, 3), None, None, 60, None),
        (Commit(20), Commit(200), None, 60, 60),
        (Commit(20), Commit(85), None, 60, 85),
        (None, Commit(200), None, 60, 60),
    ],
)
def test_a_time_decides_only_beyond_the_end_and_only_if_nothing_else_does(
    now: Commit | None, saved: Commit | None, first_lost: int | None, at_time: int, expected: int | None
) -> None:
    step, doubt = decide_commit("billing", _NAME, now, saved, _log(first_lost, at_time, _CLEAN))
    assert not doubt
    assert (step and step.target) == expected


def test_the_reason_names_the_time() -> None:
    step, _doubt = decide_share_start("queue", _NAME, Commit(200), None, _log(at_time=60))
    assert step is not None
    assert (step.target, step.reason) == (
        60,
        "110 beyond the log end; set to the first record at 2026-01-31T02:00:00Z or after, or to the log end",
    )


@pytest.mark.parametrize(
    ("now", "saved", "expected"),
    [
        (Commit(50), None, None),
        (Commit(50), Commit(20), None),
        (Commit(20), Commit(50), (CommitNeed.WENT_BACK, 50)),
        (Commit(5), Commit(50), (CommitNeed.WENT_BACK, 50)),
        (Commit(5), Commit(8), None),
        (Commit(20), Commit(200), (CommitNeed.WENT_BACK, 80)),
        (None, Commit(50), (CommitNeed.NO_STATE, 50)),
        (Commit(200), None, (CommitNeed.BEYOND_END, 90)),
        (Commit(5), None, None),
        (None, None, (CommitNeed.NO_STATE, 10)),
    ],
)
def test_where_a_share_group_starts(
    now: Commit | None, saved: Commit | None, expected: tuple[CommitNeed, int] | None
) -> None:
    step, _doubt = decide_share_start("queue", _NAME, now, saved, _log())
    assert (step and (step.need, step.target)) == expected


def test_commits_of_a_topic_that_was_created_again_are_told_by_its_id() -> None:
    commits = {
        ("billing", _NAME): Commit(5, topic_id="of before"),
        ("shipping", _NAME): Commit(5, topic_id="of now"),
        ("old client", _NAME): Commit(5),
        ("of no topic", TopicPartition("gone", 0)): Commit(5, topic_id="of gone"),
    }
    assert find_of_former_topics(commits, {"orders": "of now"}, {}) == {("billing", _NAME)}


def test_a_leader_epoch_above_that_of_now_is_of_a_former_topic() -> None:
    commits = {("billing", _NAME): Commit(9, 3), ("shipping", _NAME): Commit(9, 2), ("old client", _NAME): Commit(9)}
    assert find_of_former_topics(commits, {}, {_NAME: 2}) == {("billing", _NAME)}
    assert find_of_former_topics(commits, {}, {}) == set(), "a partition without a leader"


def test_all_versions_of_a_saved_commit_are_read() -> None:
    """The layouts of OffsetCommitValue.json in Kafka 4.3."""
    text = struct.pack(">h", 4) + b"note"
    assert parse_commit(struct.pack(">hq", 1, 7) + text + struct.pack(">qq", 1, 2)) == Commit(7, -1, "note")
    assert parse_commit(struct.pack(">hqi", 3, 7, 5) + text + struct.pack(">q", 1)) == Commit(7, 5, "note")
    assert parse_commit(struct.pack(">hqi", 4, 7, 5) + b"\5note" + struct.pack(">q", 1) + b"\0") == Commit(7, 5, "note")
    assert parse_commit(struct.pack(">hqi", 9, 7, 5)) == Commit(7)


def test_a_commit_below_zero_is_none() -> None:
    """Brokers accept it (tried on 4.3.1), and return no committed offset then."""
    assert parse_commit(struct.pack(">hqi", 3, -1, 5) + struct.pack(">hq", 0, 1)) is None
