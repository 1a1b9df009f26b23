# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Plans are written to files and read back, and edited files are refused."""

from __future__ import annotations

import hashlib
import json
import os
import stat
from pathlib import Path
from typing import Any

import hypothesis
import pytest
from hypothesis import HealthCheck, given, settings

from ansible_collections.kafkaops.recovery.plugins.module_utils._documents.errors import DocumentError
from ansible_collections.kafkaops.recovery.plugins.module_utils._documents.files import format_document, write_new_file
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.plan import Plan
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.plan_file import (
    check_file,
    check_plan,
    plan_document,
    read_plan,
    write_plan,
)
from unit.disk import full_disk
from unit.documents.examples import CLUSTER_ID, a_plan, an_election, edited, plans

# Each example gets its own file.
in_one_directory = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


@in_one_directory
@given(plans())
def test_plan_to_file_and_back(tmp_path: Path, plan: Plan) -> None:
    path = tmp_path / "plan.json"
    path.unlink(missing_ok=True)
    document = write_plan(plan, str(path))
    assert read_plan(str(path)) == plan
    assert check_plan(json.loads(json.dumps(document))) == plan
    assert path.read_bytes() == format_document(plan_document(plan)), "the same plan makes the same bytes"


def test_written_file_is_complete_and_private(tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    write_plan(a_plan(), str(path))
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert path.stat().st_nlink == 1
    assert os.listdir(tmp_path) == ["plan.json"]


def test_the_kips_elect_tool_could_read_it() -> None:
    """Kafka's tool requires these three keys, and ignores the others."""
    entries = plan_document(a_plan())["partitions"]
    assert [[*entry.items()][:3] for entry in entries] == [
        [("topic", "bar"), ("partition", 0), ("designatedLeader", 3)],
        [("topic", "foo"), ("partition", 1), ("designatedLeader", 3)],
    ]


def test_a_person_can_read_and_compare_it() -> None:
    """One line for each partition and each candidate."""
    lines = format_document(plan_document(a_plan())).decode().splitlines()
    assert lines[5].startswith('  "partitions": [')
    assert lines[6].startswith('    {"topic": "bar", "partition": 0, "designatedLeader": 3, ')
    assert lines[7].startswith('      {"brokerId": 3, "rank": 1, ')
    other = format_document(edited("partitions", 0, "designatedLeader", to=2)).decode().splitlines()
    assert [number for number, (one, two) in enumerate(zip(lines, other, strict=True)) if one != two] == [
        6,
        len(lines) - 2,
    ]


def test_digest_can_be_made_by_others() -> None:
    """As documented: SHA-256 over sorted keys, without white space, in UTF-8, without the digest."""
    document = plan_document(a_plan())
    claimed = document.pop("digest")
    canonical = json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
    assert claimed == f"sha256:{hashlib.sha256(canonical).hexdigest()}"


def _small_plan() -> bytes:
    return format_document(plan_document(Plan(CLUSTER_ID, "2026-01-31T23:59:59Z", (an_election(),), ())))


def _positions(data: bytes) -> range:
    """Return every place of a byte in `make test-all`; otherwise every seventh, which meets each bit and each field."""
    return range(0, len(data), 1 if hypothesis.settings().max_examples > 100 else 7)


@pytest.mark.parametrize("flip", ["one bit", "all bits"])
def test_no_flipped_byte_is_accepted(flip: str, tmp_path: Path) -> None:
    data = _small_plan()
    path = tmp_path / "plan.json"
    for position in _positions(data):
        bits = 1 << position % 8 if flip == "one bit" else 0xFF
        path.write_bytes(data[:position] + bytes([data[position] ^ bits]) + data[position + 1 :])
        with pytest.raises(DocumentError) as error:
            read_plan(str(path))
        assert all(problem.message and problem.remedy for problem in error.value.problems)


@pytest.mark.parametrize("change", ["removed", "doubled", "cut off after"])
def test_no_other_change_of_a_byte_is_accepted(change: str, tmp_path: Path) -> None:
    data = _small_plan().rstrip()
    path = tmp_path / "plan.json"
    for position in _positions(data[:-1]):
        # White space between values has no meaning, and the digest does not cover it.
        if data[position : position + 1].isspace() and change != "cut off after":
            continue
        kept = {"removed": 0, "doubled": 2, "cut off after": 1}[change]
        rest = b"" if change == "cut off after" else data[position + 1 :]
        path.write_bytes(data[:position] + data[position : position + 1] * kept + rest)
        with pytest.raises(DocumentError):
            read_plan(str(path))


def test_other_white_space_is_the_same_plan(tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    path.write_text(json.dumps(plan_document(a_plan()), indent=4, sort_keys=True).replace("\n", "\r\n"))
    assert read_plan(str(path)) == a_plan()


def test_edited_plan_is_accepted_after_its_digest_is_renewed(tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    path.write_bytes(format_document(edited("partitions", 0, "designatedLeader", to=2, renew=False)))
    with pytest.raises(DocumentError, match="changed after its digest was made"):
        read_plan(str(path))
    found = check_file(str(path), digest_must_fit=False)
    assert found.document["partitions"][0]["reason"].startswith("broker 2, designated by the operator")
    assert check_plan(found.document).elections[0].designated_leader == 2


@pytest.mark.parametrize("value", [None, 3, "plan", [], {}, {"schemaVersion": 1}, {"partitions": {}}, {1: 2}])
def test_invalid_inline_plan_is_refused(value: Any) -> None:
    with pytest.raises(DocumentError, match=r"^the option plan is refused"):
        check_plan(value, "the option plan")


def test_inline_plan_that_was_changed() -> None:
    with pytest.raises(DocumentError, match="Give the plan as it was made"):
        check_plan(edited("partitions", 0, "designatedLeader", to=2, renew=False))


def test_plan_that_could_not_be_read_is_not_written(tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    twice = Plan(CLUSTER_ID, "2026-01-31T23:59:59Z", (an_election(), an_election()), ())
    with pytest.raises(DocumentError, match="foo-1 is there already at /partitions/0"):
        write_plan(twice, str(path))
    with pytest.raises(DocumentError, match="takes more than 100 bytes"):
        write_plan(a_plan(), str(path), max_bytes=100)
    assert os.listdir(tmp_path) == []


def test_full_disk_leaves_nothing_behind(tmp_path: Path) -> None:
    with full_disk(1), pytest.raises(DocumentError, match="cannot be written: File too large"):
        write_new_file(str(tmp_path / "plan.json"), b"{}")
    assert os.listdir(tmp_path) == []
