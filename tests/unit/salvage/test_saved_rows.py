# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Saved records are read for a replay."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

from ansible_collections.kafkaops.recovery.plugins.module_utils._salvage.manifest import ManifestError, SavedFile
from ansible_collections.kafkaops.recovery.plugins.module_utils._salvage.saved_rows import read_saved_runs
from unit.salvage.saved import a_run, runs, table


def write(directory: Path, name: str, rows: Sequence[dict[str, Any]], rows_in_group: int | None = None) -> SavedFile:
    (directory / "records").mkdir(exist_ok=True)
    content = pa.Table.from_batches([table(*rows)])
    parquet.write_table(content, directory / "records" / name, row_group_size=rows_in_group)
    return SavedFile(name, 0, "")


def offsets(*rows: dict[str, Any]) -> list[tuple[int, int]]:
    return [(each.offset, each.next_offset) for each in runs(*rows)]


def test_a_run_ends_where_a_shared_field_changes() -> None:
    same = [{"offset": each} for each in range(5, 9)]
    assert offsets(*same) == [(5, 9)]
    assert offsets({"offset": 5}, {"offset": 6}, {"offset": 8}) == [(5, 7), (8, 9)]
    for name, value in (
        ("topic", "other"),
        ("partition", 1),
        ("leader_epoch", 4),
        ("transaction", "aborted"),
        ("origin_broker", 2),
        ("control_type", "commit"),
        ("decode_error", "why"),
    ):
        found = runs({"offset": 5}, {"offset": 6, name: value}, {"offset": 7, name: value})
        assert [each.records for each in found] == [1, 2], name
    assert runs() == []


def test_a_part_of_a_run_keeps_its_records() -> None:
    run = a_run(
        {"offset": 5, "key": None, "value": b"12345"},
        {"offset": 6, "key": b"a", "value": None, "timestamp_ms": 9},
        {"offset": 7, "key": b"b", "value": b"1", "headers": [{"key": "h", "value": b"12"}, {"key": "i"}]},
    )
    part = run.between(6, 8)
    assert (part.offset, part.next_offset, part.records) == (6, 8, 2)
    assert (part.keys, part.values, part.timestamps_ms) == ([b"a", b"b"], [None, b"1"], [9, 1])
    assert part.headers == [[], [("h", b"12"), ("i", None)]]
    assert (part.offsets_as_text, part.timestamps_as_text) == ([b"6", b"7"], [b"9", b"1"])
    assert (part.size, part.size_with_headers) == (3, 7)
    assert (run.size, run.size_with_headers) == (8, 12)


def test_a_transaction_ends_with_the_record_that_fills_it() -> None:
    run = a_run(*({"offset": each, "key": None, "value": bytes(10)} for each in range(10)))
    assert [run.take_first(size, 100).records for size in (1, 10, 11, 99, 100, 101)] == [1, 1, 2, 10, 10, 10]
    assert run.take_first(1000, 4).records == 4
    assert run.between(5, 8).take_first(20, 100).next_offset == 7


def test_partitions_take_turns_and_each_keeps_its_order(tmp_path: Path) -> None:
    many = 9000
    files = [
        write(tmp_path, "a", [{"offset": each} for each in range(many)]),
        write(tmp_path, "b", [{"offset": each, "partition": 1} for each in range(many)]),
        write(tmp_path, "c", [{"offset": each} for each in range(many, 2 * many)] + [{"partition": 2}]),
        write(tmp_path, "d", [{"partition": 3, "topic": "unwanted"}]),
        write(tmp_path, "e", []),
    ]
    for contents in (False, True):
        found = list(read_saved_runs(str(tmp_path), files, {"orders"}, contents=contents))
        read: dict[int, list[int]] = {}
        for run in found:
            read.setdefault(run.partition, []).extend(range(run.offset, run.next_offset))
        assert read == {0: list(range(2 * many)), 1: list(range(many)), 2: [1]}
        assert [each.partition for each in found[:4]] in ([0, 1, 0, 1], [1, 0, 1, 0])


def test_topics_of_several_row_groups_are_found(tmp_path: Path) -> None:
    topics: list[dict[str, Any]] = [{"topic": "orders"}, {"topic": "other"}, {"topic": "orders", "offset": 2}]
    file = write(tmp_path, "a", topics, rows_in_group=1)
    found = read_saved_runs(str(tmp_path), [file], {"orders"}, contents=True)
    assert [(each.topic, each.offset, each.records) for each in found] == [("orders", 1, 1), ("orders", 2, 1)]


def test_large_records_are_read_a_few_at_a_time(tmp_path: Path) -> None:
    rows = [{"offset": each, "value": each.to_bytes(2, "big") * 500_000} for each in range(10)]
    found = list(read_saved_runs(str(tmp_path), [write(tmp_path, "a", rows)], {"orders"}, contents=True))
    assert max(each.records for each in found) == 2
    assert [value for each in found for value in each.values] == [each["value"] for each in rows]


@pytest.mark.parametrize("contents", [False, True])
def test_a_file_that_is_no_parquet_is_reported(tmp_path: Path, contents: bool) -> None:
    file = write(tmp_path, "a", [{}])
    (tmp_path / "records" / "a").write_bytes(b"something else")
    with pytest.raises(ManifestError, match=r"records/a could not be read"):
        list(read_saved_runs(str(tmp_path), [file], {"orders"}, contents=contents))
