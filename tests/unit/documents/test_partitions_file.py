# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Accepted forms of requested partitions. See test_refused_files.py for refused forms."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.kafkaops.recovery.plugins.module_utils._documents.errors import DocumentError
from ansible_collections.kafkaops.recovery.plugins.module_utils._documents.partitions_file import (
    check_partitions,
    ignored_in_file,
    read_partitions,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import (
    ALL_PARTITIONS,
    TopicPartition,
    expand_topics,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._module.options import notes_on_file
from unit.documents.examples import INT32_MAX, topics


def test_the_kips_example(tmp_path: Path) -> None:
    path = tmp_path / "partitions.json"
    entries = [{"topic": "foo", "partitions": [5, 0, 3]}, {"topic": "bar", "partitions": [0, 1, 4]}]
    path.write_text(json.dumps({"partitions": entries}))
    assert [str(partition) for partition in read_partitions(str(path))] == [
        "bar-0",
        "bar-1",
        "bar-4",
        "foo-0",
        "foo-3",
        "foo-5",
    ]


def test_entries_with_one_partition_and_with_several_can_be_mixed() -> None:
    entries = [{"topic": "foo", "partition": 10}, {"topic": "foo", "partitions": [9]}]
    assert check_partitions(entries) == (TopicPartition("foo", 9), TopicPartition("foo", 10))


def test_files_of_kafka_s_own_tools_are_read(tmp_path: Path) -> None:
    entries = [
        {"topic": "foo", "partition": 0, "replicas": [1, 2], "log_dirs": ["any", "any"]},
        {"topic": "foo", "partition": 1, "offset": 5},
        {"topic": "bar"},
    ]
    path = tmp_path / "tools.json"
    path.write_text(json.dumps({"version": 1, "partitions": entries}))
    assert read_partitions(str(path)) == (
        TopicPartition("bar", ALL_PARTITIONS),
        TopicPartition("foo", 0),
        TopicPartition("foo", 1),
    )
    assert ignored_in_file(str(path)) == (
        f"{path}: ignored version, replicas of 1 entry, log_dirs of 1 entry, offset of 1 entry: only topics and "
        "partitions are read"
    )


def test_a_file_of_our_own_ignores_nothing(tmp_path: Path) -> None:
    path = tmp_path / "ours.json"
    path.write_text('{"partitions": [{"topic": "foo", "partitions": [0]}]}')
    assert ignored_in_file(str(path)) == ""


def test_a_file_that_is_removed_during_a_run_costs_no_result(tmp_path: Path) -> None:
    assert notes_on_file({"partitions_file": str(tmp_path / "gone.json")}) == []


def test_repeats_are_summed_up() -> None:
    with pytest.raises(DocumentError) as error:
        check_partitions([{"topic": "foo", "partition": each % 10} for each in range(3000)])
    (problem,) = error.value.problems
    assert problem.place == "/10/partition"
    assert problem.message.startswith("2,990 repeats, of which the first is this: foo-0 is there already at /0")


def test_a_topic_alone_means_all_its_partitions() -> None:
    known = [TopicPartition("foo", 0), TopicPartition("foo", 1), TopicPartition("bar", 0)]
    wanted = check_partitions([{"topic": "foo"}, {"topic": "bar", "partition": 0}, {"topic": "absent"}])
    assert expand_topics(wanted, known) == {*known, TopicPartition("absent", 0)}


_named = st.sets(st.builds(TopicPartition, topics, st.integers(0, INT32_MAX)), min_size=1)


@given(_named)
def test_every_partition_that_can_be(named: set[TopicPartition]) -> None:
    entries = [{"topic": each.topic, "partition": each.partition} for each in named]
    assert check_partitions(entries) == tuple(sorted(named))


@pytest.mark.parametrize("value", [None, {}, "foo-0", [None], [[]], []])
def test_inline_value_that_is_not_a_list_of_entries_is_refused(value: Any) -> None:
    with pytest.raises(DocumentError, match=r"^the option partitions is refused( at |: )"):
        check_partitions(value, "the option partitions")


def test_place_in_an_inline_list() -> None:
    with pytest.raises(DocumentError) as error:
        check_partitions([{"topic": "foo", "partitions": [0, "3"]}, {"topic": "foo", "partition": 1.5}])
    assert [problem.place for problem in error.value.problems] == ["/0/partitions/1", "/1/partition"]
