# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What several salvages together say of groups: each is of one topic, and another one may have its name now."""

from __future__ import annotations

import json
from collections.abc import Iterator
from operator import attrgetter
from pathlib import Path

import pyarrow as pa
import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.offset_records import LostLogs
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.record_batch import read_header
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.transactions import LostMarker
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.log_contents import EpochRange
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import TopicPartition
from ansible_collections.kafkaops.recovery.plugins.module_utils._salvage.group_offsets import read_saved_offsets
from ansible_collections.kafkaops.recovery.plugins.module_utils._salvage.manifest import ManifestError, SavedFrom
from ansible_collections.kafkaops.recovery.plugins.module_utils._salvage.rows import Origin, RowSource, build_rows
from ansible_collections.kafkaops.recovery.plugins.module_utils._salvage.writer import SalvageWriter
from unit.salvage.batches import a_batch

_NAME = TopicPartition("orders", 0)
_NOW, _FORMER = "A" * 22, "B" * 21 + "A"


def _salvage(place: Path, topic_id: str | None, first: int, epoch: int) -> str:
    """Save a record of producer 7 and its COMMIT marker."""
    batches = [a_batch(first, b"k", epoch=epoch, producer=7), a_batch(first + 1, epoch=epoch, producer=7, control=1)]
    stretches = (EpochRange(epoch, first, first + 2),)
    origin = Origin("cluster", topic_id, *_NAME, 1, None)

    def rows(one: Origin) -> Iterator[pa.RecordBatch]:
        return build_rows(lambda: [(read_header(each, 0), each) for each in batches], one, stretches)

    with SalvageWriter(str(place), None) as writer:
        written = writer.write(RowSource([origin], rows, lambda _one: 1, attrgetter("topic")))
        writer.finish(written, "cluster", (SavedFrom(1),), {_NAME: stretches})
    return str(place)


def test_a_salvage_of_a_former_topic_says_nothing_about_the_present_one(tmp_path: Path) -> None:
    places = [
        _salvage(tmp_path / "former", _FORMER, 0, 0),
        _salvage(tmp_path / "now", _NOW, 50, 3),
        _salvage(tmp_path / "absent", None, 10, 1),
    ]
    _cluster, saved = read_saved_offsets(places)
    own = LostLogs({_NAME: 50}, {_NAME: 3}, {(_NAME, 7): LostMarker(50, True, 0)})
    assert saved.lost_of({"orders": _NOW}) == own
    assert saved.lost_of({"orders": "created since"}) == LostLogs()


def test_a_manifest_that_does_not_name_what_the_files_have_is_refused(tmp_path: Path) -> None:
    place = _salvage(tmp_path / "saved", _NOW, 50, 3)
    path = tmp_path / "saved" / "manifest.json"
    path.write_text(json.dumps(json.loads(path.read_text("utf-8")) | {"partitions": [], "held": []}))
    with pytest.raises(ManifestError, match=r"has records of orders 0, and its manifest\.json does not name them"):
        read_saved_offsets([place])
