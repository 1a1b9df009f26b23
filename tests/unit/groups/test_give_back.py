# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Commits group by group: what ends a run, or one group, leaves the outcomes of the others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._groups.give_back import Committer
from ansible_collections.kafkaops.recovery.plugins.module_utils._groups.look import GroupLook
from ansible_collections.kafkaops.recovery.plugins.module_utils._groups.plan import (
    CommitStatus,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._groups.present import PresentGroups
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.errors import NoBrokerAnswersError
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.groups import Commit, GroupCommits
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.share_groups import ShareOffsets
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import TopicPartition
from unit.groups.a_step import STEP

_NAME = TopicPartition("orders", 0)


class FakeKafka:
    """A coordinator. No broker describes partitions."""

    def __init__(self) -> None:
        self.commits = {"billing": Commit(20), "shipping": Commit(20)}

    def read_commits(self, _coordinator: Any, groups: Sequence[str]) -> dict[str, GroupCommits]:
        return {each: GroupCommits({_NAME: self.commits[each]}) for each in groups}

    def write_commits(self, _coordinator: Any, group: str, commits: Mapping[TopicPartition, Commit]) -> dict[Any, None]:
        (self.commits[group],) = commits.values()
        return dict.fromkeys(commits)

    def share_start_offsets(self, _coordinator: Any, groups: Sequence[str]) -> dict[str, ShareOffsets]:
        return {each: ShareOffsets({_NAME: 20}) for each in groups}

    def describe_partitions(self, _names: Any) -> Any:
        raise NoBrokerAnswersError("Metadata", ())


@pytest.fixture
def kafka() -> FakeKafka:
    return FakeKafka()


def committed(kafka: Any, *groups: str, reasons: Sequence[str] = ("", ""), share: Sequence[str] = ()) -> dict[str, Any]:
    cluster: Any = None
    coordinators: Any = dict.fromkeys(groups, "broker")
    found = GroupLook(PresentGroups(coordinators=coordinators, share={*share}), {"orders": STEP.topic_id}, {}, ())
    left = [*reasons]
    committer = Committer(kafka, cluster, found, lambda: left.pop(0))
    steps = [replace(STEP, group=each, target_epoch=-1) for each in groups]
    return {each.group: each for step in steps for each in committer.commit(step.group, [step])}


def test_a_lock_that_is_lost_leaves_the_outcomes_of_the_groups_before(kafka: FakeKafka) -> None:
    found = committed(kafka, "billing", "shipping", reasons=["", "the lock is lost"])
    assert found["billing"].status is CommitStatus.GIVEN_BACK
    assert found["shipping"].status is CommitStatus.STOPPED
    assert "the lock is lost" in found["shipping"].reason
    assert (kafka.commits["billing"].offset, kafka.commits["shipping"].offset) == (50, 20)


def test_a_share_group_whose_state_cannot_be_located_blocks_no_other_group(kafka: FakeKafka) -> None:
    found = committed(kafka, "queue", "billing", share=["queue"])
    assert found["queue"].status is CommitStatus.FAILED
    assert "run this again" in found["queue"].reason
    assert found["billing"].status is CommitStatus.GIVEN_BACK
