# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Written rows are read back: counted, and compared with the checksums of their batches."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from kafka.record.default_records import DefaultRecordBatchBuilder
from pyspark.sql import SparkSession

from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.record_batch import (
    read_header,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.log_contents import EpochRange
from ansible_collections.kafkaops.recovery.plugins.module_utils._salvage import on_spark
from ansible_collections.kafkaops.recovery.plugins.module_utils._salvage.directory import open_unfinished_salvage
from ansible_collections.kafkaops.recovery.plugins.module_utils._salvage.manifest import SavedFrom, read_manifest
from ansible_collections.kafkaops.recovery.plugins.module_utils._salvage.markers import TransactionOutcome
from ansible_collections.kafkaops.recovery.plugins.module_utils._salvage.options import SalvageDirectoryError
from ansible_collections.kafkaops.recovery.plugins.module_utils._salvage.read_back import (
    combine_counts,
    count_rows,
    read_back,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._salvage.rows import (
    ROW_SCHEMA,
    Origin,
    RowBuffer,
    RowSource,
    read_row_batches,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._salvage.saved import SavedRecords
from ansible_collections.kafkaops.recovery.plugins.module_utils._salvage.writer import SalvageWriter
from unit.salvage.batches import a_batch, batch

TOPIC_ID = "0kEHEMDdQ5eSgSKUP1y6Sw"


def rows(partition: int, batches: Sequence[tuple[bytes, TransactionOutcome]]) -> Iterator[pa.RecordBatch]:
    buffer = RowBuffer(Origin("cluster", TOPIC_ID, "orders", partition, 1, None), (EpochRange(0, 0, 10**6),))
    for raw, outcome in batches:
        buffer.add(read_header(raw, 0), raw, outcome)
        yield from buffer.batches()
    yield from buffer.batches(last=True)


def with_headers(producer_id: int) -> bytes:
    """Return a batch of three records at offsets 0 to 2: of 6, 26 and 1 bytes, headers included."""
    builder = DefaultRecordBatchBuilder(2, 0, True, producer_id, 0, 0, 10**9)
    builder.append(0, 50, b"key", b"one", [])
    builder.append(1, 40, None, b"two", [("h", b"12"), ("null", None)])
    builder.append(2, 60, None, b"3", [])
    return bytes(builder.build())


def table(partition: int, *batches: tuple[bytes, TransactionOutcome]) -> pa.Table:
    return pa.Table.from_batches(rows(partition, batches), ROW_SCHEMA)


def test_counts_do_not_depend_on_how_rows_are_split() -> None:
    first = table(
        3, (with_headers(7), TransactionOutcome.UNKNOWN), (batch(3, [b"x" * 9, None]), TransactionOutcome.COMMITTED)
    )
    second = table(4, (batch(10, [b"y"] * 4), TransactionOutcome.NONE), (batch(20, [b"z"]), TransactionOutcome.ABORTED))
    expected = SavedRecords(
        topic="orders",
        partition=3,
        topic_id=TOPIC_ID,
        ranges=(EpochRange(0, 0, 5),),
        records=5,
        bytes=19,
        first_timestamp_ms=40,
        last_timestamp_ms=1_700_000_000_001,
        committed=2,
        aborted=0,
        unknown=3,
        committed_transactions=0,
        aborted_transactions=0,
        open_transactions=1,
        undecodable_batches=0,
        batches=2,
        largest_record_bytes=3 + (1 + 2 + 10) + (4 + 10),
        largest_batch_bytes=len(with_headers(7)),
    )
    for rows_at_once in (1, 2, 3, 100):
        both = pa.concat_tables([first, second]).combine_chunks()
        found = combine_counts(count_rows(both.to_batches(rows_at_once)))
        assert not found.problems
        assert found.partitions[0] == expected
        assert found.partitions[1].ranges == (EpochRange(0, 10, 14), EpochRange(0, 20, 21))
        assert (found.partitions[1].records, found.partitions[1].aborted) == (5, 1)


def test_a_damaged_batch_and_a_missing_row_are_reported() -> None:
    whole = table(3, (batch(0, [b"a", b"b"]), TransactionOutcome.NONE), (batch(2, [b"c"]), TransactionOutcome.NONE))
    raw = whole.column("raw_batch").to_pylist()
    raw[2] = raw[2][:-1] + b"?"
    place = whole.schema.get_field_index("raw_batch")
    damaged = whole.set_column(place, whole.schema.field(place), pa.array(raw, pa.binary())).take([0, 2])
    found = combine_counts(count_rows(damaged.to_batches()))
    assert found.problems == (
        "orders-3: batches without their checksum: 1",
        "orders-3: the files have 2 rows, and its batches have 3",
    )


def test_writing_without_spark_creates_one_file_per_partition(tmp_path: Path) -> None:
    """No Spark session is started."""
    items = [(partition, batch(number, [b"v"])) for number in range(3) for partition in range(5)]
    source = RowSource(
        items, lambda each: rows(each[0], [(each[1], TransactionOutcome.NONE)]), lambda _each: 1, lambda each: each[0]
    )
    with SalvageWriter(str(tmp_path / "saved"), None) as writer:
        written = writer.write(source)
        manifest = writer.finish(written, "cluster", (SavedFrom(1),), {})
    assert [(each.partition, each.ranges) for each in manifest.partitions] == [
        (partition, (EpochRange(0, 0, 3),)) for partition in range(5)
    ]
    assert read_manifest(str(tmp_path / "saved")) == manifest
    files = sorted((tmp_path / "saved/records").iterdir())
    assert {path.stat().st_mode & 0o777 for path in files} == {0o600}
    found = [pq.read_table(path, columns=["partition", "offset"]).to_pylist() for path in files]
    for each in range(5):
        ((offsets),) = (
            [row["offset"] for row in file if row["partition"] == each]
            for file in found
            if any(row["partition"] == each for row in file)
        )
        assert offsets == [0, 1, 2], "in the order of the items"


def test_memory_does_not_grow_with_the_size_of_a_salvage(tmp_path: Path) -> None:
    # What does not compress: Arrow buffers what is in the file.
    raw = batch(0, [random.Random(1).randbytes(1_000_000)])
    peaks = []
    before = pa.total_allocated_bytes()

    def large(number: int) -> Iterator[pa.RecordBatch]:
        for each in rows(number, [(raw, TransactionOutcome.NONE)] * 100):
            peaks.append(pa.total_allocated_bytes())
            yield each

    with SalvageWriter(str(tmp_path / "saved"), None) as writer:
        written = writer.write(RowSource([0], large, lambda _each: 1, lambda each: each))
        assert not written.back.problems
        (file,) = (tmp_path / "saved.unfinished/records").iterdir()
        for _each in read_row_batches(file, ROW_SCHEMA.names):
            peaks.append(pa.total_allocated_bytes())
    assert max(peaks) - before < 100_000_000, "200 MB were written and read"


def test_a_full_disk_leaves_no_files(tmp_path: Path) -> None:
    def full(_each: int) -> Iterator[pa.RecordBatch]:
        yield from rows(0, [(batch(0, [b"v"]), TransactionOutcome.NONE)])
        raise OSError(28, "No space left on device")

    with (
        pytest.raises(SalvageDirectoryError, match=r"No space left on device\. Nothing was saved"),
        SalvageWriter(str(tmp_path / "saved"), None) as writer,
    ):
        writer.write(RowSource([1], full, lambda _each: 1, lambda each: each))
    assert not list(tmp_path.iterdir())


def test_spark_writes_to_the_directory_of_the_salvage(spark: SparkSession, tmp_path: Path) -> None:
    with open_unfinished_salvage(str(tmp_path / "saved by alice@example.com #1 100%")) as salvage:
        spark.createDataFrame(table(3, (with_headers(7), TransactionOutcome.NONE))).write.parquet(salvage.records_uri)
        assert [each.name for each in tmp_path.iterdir()] == [salvage.path.name]
        assert salvage.files()
        assert spark.read.parquet(salvage.records_uri).count() == 3


@pytest.mark.parametrize("rows_at_once", [1, 100])
def test_spark_makes_the_account_that_this_process_makes(
    spark: SparkSession, tmp_path: Path, rows_at_once: int
) -> None:
    marker = a_batch(9, epoch=0, producer=7, control=1)
    undecodable = batch(30, [b"no gzip"])
    tables = [
        table(
            3,
            (with_headers(7), TransactionOutcome.UNKNOWN),
            (with_headers(8), TransactionOutcome.UNKNOWN),
            (batch(3, [b"x" * 9, None]), TransactionOutcome.COMMITTED),
            (marker, TransactionOutcome.NONE),
        ),
        table(4, (batch(10, [b"y"] * 4), TransactionOutcome.NONE), (batch(20, [b"z"]), TransactionOutcome.ABORTED)),
        table(5, (undecodable, TransactionOutcome.NONE)),
    ]
    raw = tables[1].column("raw_batch").to_pylist()
    place = tables[1].schema.get_field_index("raw_batch")
    raw[4] = raw[4][:-1] + b"?"
    tables[1] = tables[1].set_column(place, tables[1].schema.field(place), pa.array(raw, pa.binary())).slice(1)
    place = tables[2].schema.get_field_index("decode_error")
    tables[2] = tables[2].set_column(place, tables[2].schema.field(place), pa.array(["damaged"], pa.string()))
    (tmp_path / "records").mkdir()
    for number, each in enumerate(tables):
        pq.write_table(each, tmp_path / "records" / f"{number}.parquet", row_group_size=rows_at_once)
    here, there = read_back(tmp_path / "records"), on_spark.read_back(spark, str(tmp_path / "records"))
    assert here == there
    assert len(here.problems) == 2
    assert [each.undecodable_batches for each in here.partitions] == [0, 0, 1]
    assert (here.partitions[0].committed_transactions, here.partitions[0].open_transactions) == (1, 2)
