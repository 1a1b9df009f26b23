# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Read saved records from the Parquet files of a salvage."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from .._kafka.record_batch import ControlType
from .._model.partition import TopicPartition
from .manifest import RECORDS, ManifestError, SavedFile
from .rows import read_row_batches
from .saved_run import CONTENTS, PLACES, Block, SavedRun

with suppress(ImportError):  # a missing library is reported before the module starts (_module/run.py)
    import pyarrow as pa
    import pyarrow.compute as pc
    from pyarrow import parquet

    _UNREADABLE = (OSError, KeyError, pa.ArrowException)

_FILES_AT_ONCE = 4
_FLAGS = ("control_type", "decode_error")
_OF_MARKERS = ("topic", "partition", "offset", "producer_id", "producer_epoch", *_FLAGS)


def read_saved_runs(
    directory: str, files: Sequence[SavedFile], topics: Collection[str], *, contents: bool
) -> Iterator[SavedRun]:
    """Yield the rows of these topics. Without ``contents``, values and headers are not read, which is faster.

    The rows of a partition come in the order of the files and, within a file, in the order of the log.

    Raises ManifestError: a file cannot be read, or is no file of a salvage.
    """
    for block in _blocks(directory, files, contents=contents):
        yield from (block.prepare() if contents else block).runs(topics)


def _blocks(directory: str, files: Sequence[SavedFile], *, contents: bool) -> Iterator[Block]:
    """Yield blocks of several files in turns, so that a replay writes to the leaders of several partitions at once."""
    columns = [*PLACES, *CONTENTS] if contents else [*PLACES]
    paths = [Path(directory, RECORDS, each.name) for each in files]
    waiting = deque(
        chain.from_iterable(_read_blocks(path, columns) for path in some) for some in _group_by_partition(paths)
    )
    reading: deque[Iterator[Block]] = deque()
    while waiting or reading:
        while waiting and len(reading) < _FILES_AT_ONCE:
            reading.append(waiting.popleft())
        block = next(reading[0], None)
        if block is None:
            reading.popleft()
            continue
        yield block
        reading.rotate(-1)


class SavedMarker(NamedTuple):
    """A marker of a transaction, or a batch that may be one."""

    topic_partition: TopicPartition
    offset: int
    producer_id: int
    producer_epoch: int
    control: ControlType
    """OTHER also for a batch that does not decode."""


def read_saved_markers(directory: str, files: Iterable[SavedFile]) -> Iterator[SavedMarker]:
    """Yield the markers of all topics. Raises ManifestError like ``read_saved_runs``."""
    for path in (Path(directory, RECORDS, each.name) for each in files):
        try:
            for block in read_row_batches(path, _OF_MARKERS):
                may_be = pc.or_(*(pc.is_valid(block.column(name)) for name in _FLAGS))
                for row in block.filter(may_be).to_pylist():
                    yield SavedMarker(
                        TopicPartition(row["topic"], row["partition"]),
                        row["offset"],
                        row["producer_id"],
                        row["producer_epoch"],
                        ControlType(row["control_type"] or ControlType.OTHER),
                    )
        except _UNREADABLE as error:
            raise _unreadable_error(path, error) from None


def _group_by_partition(paths: Iterable[Path]) -> list[list[Path]]:
    """Group the files so that all files with records of one partition are in the same group."""
    groups: list[tuple[set[tuple[str, int]], list[Path]]] = []
    for path in paths:
        partitions, together = _partitions(path), []
        for group in [each for each in groups if each[0] & partitions]:
            groups.remove(group)
            partitions |= group[0]
            together += group[1]
        groups.append((partitions, [*together, path]))
    return [together for _partitions_of_group, together in groups]


def _partitions(path: Path) -> set[tuple[str, int]]:
    columns = ["topic", "partition"]
    try:
        table = parquet.read_table(path, columns=columns, read_dictionary=["topic"], use_threads=False)
        # Each row group has a dictionary of its own.
        rows = table.unify_dictionaries().group_by(columns).aggregate([]).to_pylist()
    except _UNREADABLE as error:
        raise _unreadable_error(path, error) from None
    return {(each["topic"], each["partition"]) for each in rows}


def _read_blocks(path: Path, columns: Sequence[str]) -> Iterator[Block]:
    try:
        yield from map(Block, read_row_batches(path, columns))
    except _UNREADABLE as error:
        raise _unreadable_error(path, error) from None


def _unreadable_error(path: Path, error: Exception) -> ManifestError:
    return ManifestError(f"{path} could not be read as the records of a salvage: {error}")
