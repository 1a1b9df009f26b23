# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A plan as data for the next job, and the digest that identifies it."""

from __future__ import annotations

import base64
import json
import os
import random
import zlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from ansible.parsing.dataloader import DataLoader

from ansible_collections.kafkaops.recovery.plugins.module_utils._documents.errors import DocumentError
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import TopicPartition
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.designations import read_given_designations
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.options import read_designations
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.plan import Plan
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.plan_file import (
    PACKED_BYTES,
    PLAIN_BYTES,
    pack,
    plan_document,
    read_plan,
    unpack,
    write_plan,
)
from extensions.awx_parts import extra_vars
from unit.documents.examples import a_plan, an_election

SMALL = a_plan()
LARGE = replace(SMALL, elections=tuple(an_election("t", number) for number in range(100)))


def given(**options: Any) -> Any:
    nothing = dict.fromkeys(
        ("plan_file", "plan", "plan_digest", "max_lost_records", "max_estimated_loss", "partitions")
    )
    return read_given_designations({**nothing, **options})


@pytest.mark.parametrize("plan", [SMALL, LARGE], ids=["small", "large"])
def test_a_published_plan_comes_back(plan: Plan) -> None:
    document = plan_document(plan)
    packed = json.loads(json.dumps(pack(document)))
    assert (packed["encoding"] == "json") == (len(json.dumps(document, separators=(",", ":"))) <= PLAIN_BYTES)
    assert packed["digest"] == document["digest"]
    assert given(plan=packed) == plan


@pytest.mark.parametrize("topic", ["t", "2026-01-31", "0123", "true", "null"])
@pytest.mark.parametrize("elections", [1, 100])
def test_awx_hands_the_same_plan_on(topic: str, elections: int) -> None:
    """AWX marks texts as unsafe, and ansible-core converts such texts to times, numbers and booleans if possible."""
    plan = replace(SMALL, elections=tuple(an_election(topic, number) for number in range(elections)), left_alone=())
    written = extra_vars({"plan": pack(plan_document(plan)), "digest": plan_document(plan)["digest"]})
    arrived = json.loads(json.dumps(DataLoader().load(written)))
    assert given(plan=arrived["plan"], plan_digest=arrived["digest"]) == plan


def test_plan_with_template_characters_is_compressed() -> None:
    marked = replace(SMALL, elections=(replace(an_election(), reason="{{ lookup('pipe', 'id') }}"),))
    packed = pack(plan_document(marked))
    assert "{{" not in json.dumps(packed)
    assert given(plan=packed) == marked


def test_a_plan_that_is_too_large_is_not_published() -> None:
    incompressible = random.Random(0).randbytes(PACKED_BYTES).hex()
    with pytest.raises(DocumentError, match=r"the most that is published\. Write it to a file"):
        pack(plan_document(replace(SMALL, elections=(replace(an_election(), reason=incompressible),))))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"encoding": "gzip"}, r"has the encoding json or zlib\+base64"),
        ({"data": 1}, "and its data as a string"),
        ({"encoding": "json", "data": '{"a": NaN}'}, "NaN"),
        ({"encoding": "json", "data": '{"a"'}, "line 1"),
        ({"data": "%"}, "cannot be read"),
        ({"data": base64.b64encode(b"no zlib").decode()}, "cannot be read"),
        ({"data": base64.b64encode(zlib.compress(b"{}" * 50)[:-4]).decode()}, "is cut"),
        ({"data": base64.b64encode(zlib.compress(b'{"a": NaN}')).decode()}, "NaN"),
    ],
)
def test_damaged_data_is_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(DocumentError, match=message):
        unpack({**pack(plan_document(LARGE)), **change})


def test_compressed_data_cannot_fill_the_memory() -> None:
    with pytest.raises(DocumentError, match="holds more than 1,000 bytes"):
        unpack(pack(plan_document(LARGE)), max_bytes=1000)


def test_only_the_approved_plan_is_carried_out(tmp_path: Path) -> None:
    path = str(tmp_path / "plan.json")
    document = write_plan(SMALL, path)
    other = plan_document(replace(SMALL, left_alone=()))
    for options in ({"plan": document}, {"plan_file": path}):
        assert given(**options, plan_digest=document["digest"]) == SMALL
        with pytest.raises(DocumentError, match=f"has the digest {document['digest']}, and .* was approved"):
            given(**options, plan_digest=other["digest"])
    with pytest.raises(DocumentError, match="was approved"):
        given(plan=document, plan_digest="")


@pytest.mark.parametrize("limit", [None, 30, 31])
def test_a_plan_with_this_limit_or_a_lower_one_is_carried_out(limit: int | None) -> None:
    assert given(plan=plan_document(SMALL), max_lost_records=limit) == SMALL


@pytest.mark.parametrize(
    ("planned", "message"),
    [(30, "was planned with a limit of 30 lost records, and the limit is 0"), (None, "was planned without a limit")],
)
def test_a_plan_with_a_higher_limit_or_none_is_refused(planned: int | None, message: str) -> None:
    election = replace(an_election("t", 0), max_lost_records=planned)
    document = plan_document(replace(SMALL, elections=(election,)))
    with pytest.raises(DocumentError, match=f"/partitions/0/maxLostRecords: t-0 {message}"):
        given(plan=document, max_lost_records=0)


def test_the_kips_own_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "kip.json"
    path.write_text(
        '{"partitions":[{"topic":"b","partition":1,"designatedLeader":2},{"topic":"a","partition":0,"designatedLeader":3}]}'
    )
    path.chmod(0o600)
    assert read_designations(str(path)) == {TopicPartition("a", 0): 3, TopicPartition("b", 1): 2}
    with pytest.raises(DocumentError, match=r"it designates leaders, and is no plan\. Give it as"):
        read_plan(str(path))


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('{"partitions":[]}', "at least one entry"),
        ('{"partitions":[{"topic":"a","partition":0}]}', "designatedLeader"),
        (
            '{"partitions":[{"topic":"a","partition":0,"designatedLeader":3},{"topic":"a","partition":0,"designatedLeader":2}]}',
            "a-0 is there already at /partitions/0",
        ),
    ],
)
def test_a_wrong_file_of_leaders_is_refused(tmp_path: Path, text: str, problem: str) -> None:
    path = tmp_path / "kip.json"
    path.write_text(text)
    path.chmod(0o600)
    with pytest.raises(DocumentError, match=problem):
        read_designations(str(path))


def test_a_file_of_leaders_that_others_may_write_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "kip.json"
    path.write_text('{"partitions":[{"topic":"a","partition":0,"designatedLeader":3}]}')
    os.chmod(path, 0o606)
    with pytest.raises(DocumentError, match=r"may be written by everybody \(mode 0606\). Check its content"):
        read_designations(str(path))
