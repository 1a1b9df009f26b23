# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What __consumer_offsets says about committed offsets since an election."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._groups.decide import Since, decide_commit
from ansible_collections.kafkaops.recovery.plugins.module_utils._groups.divergence import PresentLog
from ansible_collections.kafkaops.recovery.plugins.module_utils._groups.plan import Choice
from ansible_collections.kafkaops.recovery.plugins.module_utils._groups.present import PresentGroups
from ansible_collections.kafkaops.recovery.plugins.module_utils._groups.since import (
    ChangeReader,
    CommitChanges,
    explain_unread,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.group_commits import partition_of
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.groups import Commit, GroupCommits
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.log_reading import LogRecord
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.offset_records import CommitLog, parse_key
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.record_batch import BatchRecord
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import TopicPartition
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.setting import Setting, SettingSource
from unit.fakes.cluster import FakeCluster

NAME, OTHER, THIRD = (TopicPartition("orders", each) for each in range(3))
COMMITS = TopicPartition("__consumer_offsets", 3)
Record = tuple[bytes, bytes | None]
_GONE = b"\x00"
_FIRST = 10
_DAY_MS = 86_400_000
_NOW = datetime(2026, 1, 31, tzinfo=UTC)


def commit(offset: int | None, name: TopicPartition = NAME, group: bytes = b"billing") -> Record:
    topic = name.topic.encode()
    key = struct.pack(f">hh{len(group)}sh{len(topic)}si", 1, len(group), group, len(topic), topic, name.partition)
    return key, None if offset is None else struct.pack(">hqi", 3, offset, 5) + struct.pack(">hq", 0, 1)


def of_group(kind: int, value: bytes | None = None, group: bytes = b"billing") -> Record:
    return struct.pack(f">hh{len(group)}s", kind, len(group), group), value


def changes(*records: Record) -> CommitChanges:
    found = CommitChanges()
    for offset, (key, value) in enumerate(records, _FIRST):
        parsed = parse_key(key)
        assert parsed is not None
        found.add(offset, parsed, value)
    return found


@pytest.mark.parametrize(
    ("records", "now", "expected"),
    [
        ([], None, ""),
        ([commit(7)], 7, "committed 7"),
        ([commit(7), commit(8)], 8, "committed 8"),
        ([commit(7), commit(None)], None, "it was deleted"),
        ([commit(None), commit(3)], 3, "committed 3"),
        ([commit(7, OTHER), commit(7, group=b"shipping")], 5, ""),
        ([commit(None, OTHER)], None, "?all offsets that the group had after the election were deleted"),
        ([commit(None, OTHER), commit(1, THIRD)], None, ""),
        ([commit(None, OTHER), of_group(2)], None, "the group was deleted, or its offsets expired"),
        # A consumer group has records of its members, too; later, it is used again.
        ([commit(None, OTHER), of_group(5), of_group(3), of_group(2, b"x")], None, "the group was deleted, or"),
        ([commit(None, OTHER), commit(1, group=b"shipping"), of_group(2)], None, "?the group was deleted since"),
        ([of_group(2)], None, "?the group was deleted since"),
        ([of_group(2), of_group(3, b"x")], None, ""),
        ([of_group(2), commit(7, group=b"shipping"), of_group(2, b"x")], None, "?the group was deleted since"),
        ([of_group(3, b"x"), of_group(17, b"x")], None, ""),
        ([of_group(2), commit(5)], 5, "committed 5"),
    ],
)
def test_what_became_of_a_saved_offset(records: Sequence[Record], now: int | None, expected: str) -> None:
    found = changes(*records)
    present = {name: each for (group, name), each in found.commits.items() if group == "billing" and each}
    since = found.since("billing", NAME, present if now is None else {**present, NAME: Commit(now)})
    assert (since is None) == (not expected)
    if since is not None:
        assert expected.removeprefix("?") in since.what
        assert since.is_known == (not expected.startswith("?"))


@pytest.mark.parametrize(
    ("since", "overwrites", "expected"),
    [
        (None, False, (Choice.GIVE_BACK, 50)),
        (Since("it was deleted"), False, (Choice.LEAVE_ALONE, 50)),
        (Since("it was deleted"), True, (Choice.OVERWRITE, 50)),
    ],
)
def test_what_was_done_since_is_not_undone(
    since: Since | None, expected: tuple[Choice, int], *, overwrites: bool
) -> None:
    log = PresentLog(10, 90, lambda _epoch: 90, topic_id="", leader_epoch=5)
    step, _doubt = decide_commit("billing", NAME, Commit(20, 3), Commit(50, 3), log, since, overwrites=overwrites)
    assert step is not None
    assert (step.choice, step.target) == expected
    what = f"{since.what}; " if since else ""
    assert step.reason == f"{what}the salvage has this commit"


def test_an_offset_that_does_not_hold_is_changed_without_the_saved_one() -> None:
    """The records before 10 are deleted: its consumers would be reset."""
    log = PresentLog(10, 90, lambda _epoch: 90, topic_id="", leader_epoch=5)
    step, _doubt = decide_commit("billing", NAME, Commit(5), Commit(50, 3), log, Since("it has committed"))
    assert step is not None
    assert (step.choice, step.target) == (Choice.GIVE_BACK, 10)


class FakeLog:
    """A log of which the cleaner has removed records, or in which a transaction is open."""

    def __init__(self, *records: Record, has_gaps: bool = False, unsettled: Sequence[tuple[Record, bool]] = ()) -> None:
        self.records, self.has_gaps, self.unsettled = records, has_gaps, unsettled
        self.is_open = bool(unsettled)
        self.next_offset = _FIRST + len(records)

    def read(self, _wait_s: None) -> Iterator[LogRecord]:
        for offset, (key, value) in enumerate(self.records, _FIRST):
            yield LogRecord(5, BatchRecord(offset, 0, key, value, []))

    def read_unsettled(self) -> Iterator[tuple[BatchRecord, bool]]:
        for offset, ((key, value), is_transactional) in enumerate(self.unsettled, self.next_offset):
            yield BatchRecord(offset, 0, key, value, []), is_transactional


def read(log: FakeLog, saved: CommitLog, *, start: int = 0, retention_ms: int | None = _DAY_MS) -> CommitChanges:
    cluster: Any = FakeCluster({}, {1}, {1}, {})
    asked: list[tuple[TopicPartition, int]] = []

    def committed_log(_leader: object, name: TopicPartition, offset: int) -> FakeLog:
        asked.append((name, offset))
        return log

    configs = {} if retention_ms is None else {COMMITS.topic: Setting(str(retention_ms), SettingSource.DEFAULT)}
    cluster.answer(committed_log=committed_log, topic_configs=lambda _names, _name: configs)
    cluster.answer(cluster_time=lambda: _NOW)
    present = PresentLog(start, 30, lambda epoch: _FIRST if epoch == 4 else 30, topic_id="", leader_epoch=5)
    reader = ChangeReader(cluster, cluster.describe_cluster(), {COMMITS: 1}, {3: saved}, {COMMITS: present})
    found = reader.read()[3]
    assert asked == [(COMMITS, max(start, _FIRST))]
    return found


_SAVED = CommitLog(15, 4, round(_NOW.timestamp() * 1000) - _DAY_MS + 1)
"""Compaction has removed the dead broker's records from 10 on."""


def test_deletions_count_as_kept_for_delete_retention() -> None:
    old = _SAVED._replace(last_timestamp_ms=0)
    assert not read(FakeLog(commit(7)), old).missing
    assert not read(FakeLog(commit(7), has_gaps=True), _SAVED).missing
    for found in (
        read(FakeLog(commit(7), has_gaps=True), old),
        read(FakeLog(commit(7), has_gaps=True), _SAVED, retention_ms=None),
        read(FakeLog(commit(7), has_gaps=True), _SAVED._replace(last_timestamp_ms=None)),
    ):
        since = found.since("billing", OTHER, {NAME: Commit(7)})
        assert since is not None
        assert (since.is_known, since.what) == (False, found.missing)
        assert found.since("billing", OTHER, {OTHER: Commit(3)}) is None, "an offset that is there was not deleted"
        assert found.since("billing", NAME, {NAME: Commit(7)}) == Since(
            "the group has committed 7 since the election, or somebody has reset it"
        )


@pytest.mark.parametrize(("name", "is_known"), [(NAME, False), (OTHER, True)])
def test_an_open_transaction_concerns_only_the_offsets_in_it(name: TopicPartition, *, is_known: bool) -> None:
    log = FakeLog(unsettled=[(commit(7), True), (commit(8, OTHER), False)])
    since = read(log, _SAVED).since("billing", name, {name: Commit(3)})
    assert since is not None
    assert since.is_known is is_known
    assert read(log, _SAVED).since("shipping", name, {name: Commit(3)}) is None


def test_what_cannot_be_read_may_be_a_commit() -> None:
    since = read(FakeLog(), _SAVED, start=12).since("billing", NAME, {NAME: Commit(3)})
    assert since is not None
    assert not since.is_known
    assert "begins at 12, after the election: what was before is not known" in since.what


def test_groups_whose_offsets_cannot_be_read_are_named_until_the_operator_does_without_them() -> None:
    group_commits = {"billing": GroupCommits({}), "queue": GroupCommits({}), "silent": GroupCommits({}, "no answer")}
    present = PresentGroups(share={"queue"}, commits=group_commits)
    number = partition_of("billing", 50)
    unread = [TopicPartition("__consumer_offsets", number), TopicPartition("__consumer_offsets", number + 1)]

    def named(*overwrite: str) -> list[tuple[str, ...]]:
        return [each.groups for each in explain_unread(unread, 50, overwrite, present)]

    assert (named(), named("billing")) == ([("billing",)], [])
    (found,) = explain_unread([TopicPartition("__share_group_state", 3)], 50, (), present)
    assert found.groups == ("queue",)
    assert found.reason.startswith("__share_group_state-3: not all of its saved records can be read")
