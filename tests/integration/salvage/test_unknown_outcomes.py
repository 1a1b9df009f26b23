# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A damaged disk never turns an aborted record into a committed one: its outcome becomes unknown."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._disk.segment import Batch, Segment, read_segment
from ansible_collections.kafkaops.recovery.plugins.module_utils._salvage.finding import SalvageStatus
from integration.salvage.disks import copy_of_disks, salvage, segments
from integration.salvage.oracle import Known, Oracle, in_short
from integration.salvage.test_replay import give_back, of_partition, returned, settled
from integration.salvage.wreck import ONE_PRODUCER


def damage(disks: list[Path], offset: int) -> range:
    """Flip a bit in the last byte of the batch with this offset. Returns the offsets of the batch."""
    path = segments(disks, ONE_PRODUCER)[-1]
    with path.open("rb", buffering=0) as file:
        (batch,) = (
            each
            for each in read_segment(file, Segment(str(path), int(path.stem), path.stat().st_size))
            if isinstance(each, Batch) and each.header.base_offset <= offset < each.header.next_offset
        )
    content = bytearray(path.read_bytes())
    content[batch.position + batch.header.size - 1] ^= 1
    path.write_bytes(content)
    return range(batch.header.base_offset, batch.header.next_offset)


def transactions(oracle: Oracle) -> list[list[Known]]:
    """Return the records of the four transactions: aborted, committed, aborted, committed."""
    lost = oracle.of("lost", ONE_PRODUCER)
    return [lost[start : start + 5] for start in range(0, 20, 5)]


@pytest.mark.parametrize(
    ("which", "on_spark"),
    [
        ("abort marker", False),
        pytest.param("abort marker", True, marks=pytest.mark.wide),
        pytest.param("data of the next transaction", False, marks=pytest.mark.wide),
        pytest.param("commit marker", False, marks=pytest.mark.wide),
    ],
)
def test_consumers_get_no_aborted_record(oracle: Oracle, tmp_path: Path, which: str, *, on_spark: bool) -> None:
    """Read back by librdkafka with isolation.level=read_committed."""
    aborted, committed, *_later = transactions(oracle)
    place, unknown = {
        "abort marker": (aborted[-1].offset + 1, aborted),
        "data of the next transaction": (committed[0].offset, []),
        "commit marker": (committed[-1].offset + 1, committed),
    }[which]
    disks = copy_of_disks(oracle.cluster, tmp_path)
    damaged = damage(disks, place)
    done = salvage(oracle.cluster, tmp_path / "saved", log_dirs=disks, topics={ONE_PRODUCER}, on_spark=on_spark)
    (found,) = done.findings
    assert found.saved is not None
    assert (found.status, found.saved.unknown) == (SalvageStatus.SAVED, len(unknown))
    before = returned(oracle.cluster, [ONE_PRODUCER])
    # Each case has its own progress topic, so that no run continues another one.
    options: dict[str, Any] = {"topics": [ONE_PRODUCER], "target": "original"}
    topic = f"unknown-{place}-{on_spark}"
    result = give_back(oracle.cluster, tmp_path / "saved", **options, progress_topic=topic)
    assert "msg" not in result, result["msg"]
    assert of_partition(result, ONE_PRODUCER)["left_out"].get("unknown", 0) == len(unknown)
    assert result["account"]["total"]["at_hand"] == len(unknown)
    added = Counter(in_short(returned(oracle.cluster, [ONE_PRODUCER]))) - Counter(in_short(before))
    unread = {each.offset for each in unknown} | {*damaged}
    expected = [each for each in oracle.of("lost", ONE_PRODUCER) if each.offset not in unread]
    assert added == Counter(in_short(settled(expected, "committed")))
