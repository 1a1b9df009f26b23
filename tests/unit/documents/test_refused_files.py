# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Files with errors: each error is refused at its position, with this message."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._documents import strict_json
from ansible_collections.kafkaops.recovery.plugins.module_utils._documents.errors import DocumentError
from ansible_collections.kafkaops.recovery.plugins.module_utils._documents.files import digest
from ansible_collections.kafkaops.recovery.plugins.module_utils._documents.partitions_file import read_partitions
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import TopicPartition
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery import plan_file
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.plan_file import (
    plan_document,
    read_plan,
)
from unit.documents.examples import INT32_MAX, INT64_MAX, a_plan, edited

WHOLE = ""
A_PARTITION = "a partition is an integer from 0 to 2147483647"
A_TOPIC = 'a topic name has 1 to 249 of the characters a-z, A-Z, 0-9, ".", "_" and "-", and is neither "." nor ".."'


def entry(topic: Any = "foo", partition: Any = 0, **more: Any) -> dict[str, Any]:
    return {"topic": topic, "partition": partition, **more}


def text(*entries: Any) -> bytes:
    return json.dumps({"partitions": entries}).encode()


PARTITIONS_FILES: dict[str, tuple[bytes, dict[str, str]]] = {
    "empty file": (b"", {WHOLE: "is empty"}),
    "white space only": (b" \n", {WHOLE: "is empty"}),
    "NUL bytes only": (bytes(100), {WHOLE: "only NUL bytes"}),
    "{}": (b"{}", {WHOLE: 'the key "partitions" is missing'}),
    "a list": (b"[]", {WHOLE: "[] is a list; a partitions file is an object"}),
    "empty list": (text(), {"/partitions": "[] is not allowed; the partitions are a list of at least one entry"}),
    "null for the list": (b'{"partitions": null}', {"/partitions": "null is not a value"}),
    "empty list of a topic": (
        text({"topic": "foo", "partitions": []}),
        {"/partitions/0/partitions": "[] is not allowed; the partitions of a topic are a list of at least one"},
    ),
    "entry that is no object": (text("foo-0"), {"/partitions/0": '"foo-0" is a string; an entry is {"topic": "foo"'}),
    "duplicate entry": (
        text(entry(), entry("bar"), entry()),
        {"/partitions/2/partition": "foo-0 is there already at /partitions/0/partition"},
    ),
    "duplicate within a topic": (
        text({"topic": "foo", "partitions": [0, 3, 0]}),
        {"/partitions/0/partitions/2": "foo-0 is there already at /partitions/0/partitions/0"},
    ),
    "negative partition": (text(entry(partition=-1)), {"/partitions/0/partition": f"-1 is not allowed; {A_PARTITION}"}),
    "partition > int32": (
        text(entry(partition=INT32_MAX + 1)),
        {"/partitions/0/partition": f"2147483648 is not allowed; {A_PARTITION}"},
    ),
    'partition "3"': (
        text(entry(partition="3")),
        {"/partitions/0/partition": f'"3" is a string; {A_PARTITION}. Write it without quotes: 3'},
    ),
    "partition 3.0": (
        text({"topic": "foo", "partitions": [3.0]}),
        {"/partitions/0/partitions/0": f"3.0 is a decimal number; {A_PARTITION}. Write it without a decimal point: 3"},
    ),
    "partition true": (
        text(entry(partition=True)),
        {"/partitions/0/partition": f"true is a truth value; {A_PARTITION}"},
    ),
    "partition null": (text(entry(partition=None)), {"/partitions/0/partition": f"null is not a value; {A_PARTITION}"}),
    "partition a list": (text(entry(partition=[1])), {"/partitions/0/partition": f"[...] is a list; {A_PARTITION}"}),
    "topic ..": (text(entry("..")), {"/partitions/0/topic": f'".." is not allowed; {A_TOPIC}'}),
    "topic .": (text(entry(".")), {"/partitions/0/topic": f'"." is not allowed; {A_TOPIC}'}),
    "topic without a name": (text(entry("")), {"/partitions/0/topic": f'"" is not allowed; {A_TOPIC}'}),
    "topic > 249 characters": (text(entry("x" * 250)), {"/partitions/0/topic": f"{A_TOPIC}; it has 250 characters"}),
    "topic with NUL": (text(entry("a\0b")), {"/partitions/0/topic": '"a\\u0000b" is not allowed'}),
    "topic with a line feed": (text(entry("foo\n")), {"/partitions/0/topic": "it holds U+000A"}),
    "topic that is a number": (text(entry(7)), {"/partitions/0/topic": "7 is an integer; a topic name"}),
    "look-alike Unicode": (
        text(entry("t\N{CYRILLIC SMALL LETTER O}pic")),
        {
            "/partitions/0/topic": '"t\\u043epic" is not allowed; '
            + A_TOPIC
            + "; it holds U+043E CYRILLIC SMALL LETTER O"
        },
    ),
    "invisible Unicode": (
        text(entry("foo\N{ZERO WIDTH SPACE}")),
        {"/partitions/0/topic": "it holds U+200B ZERO WIDTH SPACE"},
    ),
    "UTF-16": (text(entry()).decode().encode("utf-16"), {WHOLE: "is UTF-16 text"}),
    "UTF-16 without a BOM": (text(entry()).decode().encode("utf-16-le"), {WHOLE: "is UTF-16-LE text"}),
    "UTF-32": (text(entry()).decode().encode("utf-32"), {WHOLE: "is UTF-32 text"}),
    "broken UTF-8": (
        b'{"partitions":\n[{"topic": "caf\xe9", "partition": 0}]}',
        {"line 2, column 16": "these bytes are not UTF-8: e9", "/partitions/0/topic": "U+FFFD REPLACEMENT CHARACTER"},
    ),
    "truncated": (text(entry())[:-3], {"line 1, column 48": "the JSON text ends too early, it was cut off"}),
    "truncated in a string": (b'{"partitions": [{"topic": "fo', {"line 1, column 27": "it was cut off"}),
    "trailing": (b'{"partitions": []}\n{}', {"line 2, column 1": "text goes on after the end of the JSON document"}),
    "keys without quotes": (
        b'{"partitions": [{topic: "foo", partitions: [0]}]}',
        {"line 1, column 18": "a key in double quotes should be here"},
    ),
    "duplicate JSON keys": (
        b'{"partitions": [{"topic": "foo", "partition": 0, "partition": 1}]}',
        {"/partitions/0/partition": "this key is there more than once"},
    ),
    "extra keys": (
        text(entry(designatedLeader=1), {"topic": "bar", "partitons": [0], "partitions": [0]}),
        {
            "/partitions/0/designatedLeader": "this key is not known; the keys here are topic and partition. Remove it",
            "/partitions/1/partitons": 'Write "partitions", or remove it',
        },
    ),
    "both forms at once": (
        text(entry(partitions=[0])),
        {"/partitions/0/partitions": "this key is not known; the keys here are topic and partition"},
    ),
    "missing keys": (
        text({"partition": 0}, {}),
        {"/partitions/0": 'the key "topic" is missing', "/partitions/1": 'the key "topic" is missing'},
    ),
    "NaN": (
        b'{"partitions": [{"topic": "foo", "partition": NaN}]}',
        {"/partitions/0/partition": "NaN is not a JSON value"},
    ),
    "Infinity": (b'{"partitions": [-Infinity]}', {"/partitions/0": "an infinity, or a number too large to be read"}),
    "1e999": (b'{"partitions": [1e999]}', {"/partitions/0": "an infinity, or a number too large to be read"}),
    "huge integer": (
        b'{"partitions": [{"topic": "foo", "partition": ' + b"9" * 5000 + b"}]}",
        {"/partitions/0/partition": "a number too large to be read"},
    ),
    "over the nesting limit": (
        b'{"partitions": ' + b"[" * 40,
        {"line 1, column 47": "lists and objects go deeper than 32 levels"},
    ),
    "half a surrogate pair": (
        b'{"partitions": [{"topic": "\\ud800", "partition": 0}]}',
        {"/partitions/0/topic": "has half of a surrogate pair"},
    ),
    "all at once": (
        b'{"partitions": [{"topic": "foo", "topic": "..", "partition": "x"}, {"topic": "a b", "partition": 1e400}, 7]}',
        {
            "/partitions/0/topic": "this key is there more than once",
            "/partitions/0/partition": f'"x" is a string; {A_PARTITION}',
            "/partitions/1/topic": "it holds U+0020 SPACE",
            "/partitions/1/partition": "a number too large to be read",
            "/partitions/2": "7 is an integer; an entry is",
        },
    ),
}


PLAN_FILES: dict[str, tuple[dict[str, Any], dict[str, str]]] = {
    "duplicate entry": (
        edited("partitions", 1, to=plan_document(a_plan())["partitions"][0]),
        {"/partitions/1": "bar-0 is there already at /partitions/0"},
    ),
    "duplicate with another leader": (
        edited("partitions", 1, to={**plan_document(a_plan())["partitions"][0], "designatedLeader": 2}),
        {"/partitions/1": "bar-0 is to be led by broker 2 here, and by broker 3 at /partitions/0"},
    ),
    "planned and left alone": (
        edited("leftAlone", 0, "topic", to="bar"),
        {"/leftAlone/0": "bar-0 is to be led by nobody here, and by broker 3 at /partitions/0"},
    ),
    "designated broker not in the replicas": (
        edited("partitions", 1, "designatedLeader", to=9),
        {"/partitions/1/designatedLeader": "broker 9 is not among the replicas, which are 1, 2 and 3"},
    ),
    "designated broker not among the candidates": (
        edited("partitions", 1, "designatedLeader", to=1),
        {"/partitions/1/designatedLeader": "broker 1 is not among the candidates, which are 3 and 2"},
    ),
    "candidate not in the replicas": (
        edited("partitions", 0, "candidates", 1, "brokerId", to=9),
        {"/partitions/0/candidates/1/brokerId": "broker 9 is not among the replicas, which are 1, 2 and 3"},
    ),
    "dropped broker not in the replicas": (
        edited("partitions", 0, "dropped", to=[9]),
        {"/partitions/0/dropped/0": "broker 9 is not among the replicas, which are 1, 2 and 3"},
    ),
    "designated broker to be dropped": (
        edited("partitions", 0, "dropped", to=[1, 3]),
        {"/partitions/0/dropped/1": "broker 3 is to lead, and to be dropped"},
    ),
    "recovered without an election": (
        edited("leftAlone", 0, "status", to="recovered"),
        {"/leftAlone/0/status": "recovered is the status of an election, and this partition has none"},
    ),
    "no strategy": (
        edited("partitions", 0, "strategy", to=None),
        {"/partitions/0/strategy": "it has no strategy, so that it cannot be decided again"},
    ),
    "silent replica left out": (
        edited("partitions", 0, "silent", to=[]),
        {"/partitions/0/replicas/0": "broker 1 is neither among the candidates nor among the silent replicas. Restore"},
    ),
    "loss left out": (
        edited("partitions", 0, "losses", to=[]),
        {"/partitions/0/losses": "the losses are of none, and the candidates are 3 and 2"},
    ),
    "candidate twice": (
        edited("partitions", 0, "candidates", 1, "brokerId", to=3),
        {"/partitions/0/candidates/1/brokerId": "broker 3 is there already at /partitions/0/candidates/0/brokerId"},
    ),
    "candidate that is silent": (
        edited("partitions", 0, "silent", 0, "brokerId", to=3),
        {"/partitions/0/silent/0/brokerId": "broker 3 is there already at /partitions/0/candidates/0/brokerId"},
    ),
    "replica twice": (
        edited("partitions", 0, "replicas", to=[1, 2, 3, 2]),
        {"/partitions/0/replicas/3": "broker 2 is there already at /partitions/0/replicas/1"},
    ),
    "ranks out of order": (
        edited("partitions", 0, "candidates", 1, "rank", to=1),
        {"/partitions/0/candidates/1/rank": "rank 1 comes after rank 1"},
    ),
    "no candidate": (
        edited("partitions", 0, "candidates", to=[]),
        {"/partitions/0/designatedLeader": "broker 3 is not among the candidates, which are none"},
    ),
    "offset > int64": (
        edited("partitions", 0, "candidates", 0, "logEndOffset", to=INT64_MAX + 1),
        {"/partitions/0/candidates/0/logEndOffset": "is not allowed; an offset is an integer from 0 to 9223372036854"},
    ),
    "epoch > int32": (
        edited("partitions", 0, "leaderEpoch", to=INT32_MAX + 1),
        {"/partitions/0/leaderEpoch": "2147483648 is not allowed; a leader epoch is an integer from 0 to 2147483647"},
    ),
    "missing data is null, never -1": (
        edited("partitions", 0, "candidates", 0, "lastWrittenEpoch", to=-1),
        {"/partitions/0/candidates/0/lastWrittenEpoch": "-1 is not allowed; a leader epoch is an integer from 0 to"},
    ),
    "log end < log start": (
        edited("partitions", 0, "candidates", 0, "logEndOffset", to=9),
        {"/partitions/0/candidates/0/logEndOffset": "the log end offset 9 lies before the log start offset 10"},
    ),
    "lineage with equal epochs": (
        edited("partitions", 0, "candidates", 0, "lineage", to=[[2, 100], [2, 150]]),
        {"/partitions/0/candidates/0/lineage/1": "epoch 2, end offset 150, comes after epoch 2, end offset 100"},
    ),
    "lineage with falling offsets": (
        edited("partitions", 0, "candidates", 0, "lineage", to=[[2, 100], [6, 99]]),
        {"/partitions/0/candidates/0/lineage/1": "epoch 6, end offset 99, comes after epoch 2, end offset 100"},
    ),
    "lineage of single numbers": (
        edited("partitions", 0, "candidates", 0, "lineage", to=[[2]]),
        {"/partitions/0/candidates/0/lineage/0": "[...] is not allowed; an epoch of the log is a list of two"},
    ),
    "unknown flag": (
        edited("partitions", 0, "candidates", 0, "flags", to=["fine"]),
        {"/partitions/0/candidates/0/flags/0": '"fine" is not allowed; a flag is one of empty_log, gap'},
    ),
    "schema version newer": (
        edited("schemaVersion", to=2),
        {"/schemaVersion": "this plan has schema version 2, and this version of kafkaops.recovery reads 1. Upgrade"},
    ),
    "schema version true": (edited("schemaVersion", to=True), {"/schemaVersion": "true is a truth value"}),
    "extra key": (edited("force", to=True), {"/force": "this key is not known"}),
    "cluster id empty": (edited("clusterId", to=""), {"/clusterId": '"" is not allowed; a cluster id is not empty'}),
    "changed against the digest": (
        edited("partitions", 0, "designatedLeader", to=2, renew=False),
        {"/digest": "the plan was changed after its digest was made. If the change is not yours, make the plan again"},
    ),
    "digest of another kind": (
        edited("digest", to="md5:00"),
        {"/digest": '"md5:00" is not allowed; a digest is sha256: and 64 characters of 0-9 and a-f'},
    ),
    "all at once": (
        edited(
            "partitions", 0, to={**edited("partitions", 1, "topic", to="a b")["partitions"][1], "isr": 1}, renew=False
        ),
        {
            "/partitions/0/topic": '"a b" is not allowed',
            "/partitions/0/isr": "1 is an integer; the ISR is a list of broker ids",
            "/digest": "the plan was changed after its digest was made",
        },
    ),
}


def assert_refused(read: Callable[[str], object], path: Path, expected: dict[str, str]) -> None:
    with pytest.raises(DocumentError) as refused:
        read(str(path))
    found = {problem.place: str(problem) for problem in refused.value.problems}
    assert found.keys() == expected.keys()
    assert [words for place, words in expected.items() if words not in found[place]] == [], found
    head = str(refused.value).splitlines()[0]
    if len(expected) == 1:
        assert head.startswith((f"{path} is refused: ", f"{path} is refused at {next(iter(expected))}: "))
    else:
        assert head == f"{path} is refused: {len(expected)} problems"


@pytest.mark.parametrize(("data", "expected"), PARTITIONS_FILES.values(), ids=PARTITIONS_FILES)
def test_partitions_file_is_refused(data: bytes, expected: dict[str, str], tmp_path: Path) -> None:
    path = tmp_path / "partitions.json"
    path.write_bytes(data)
    assert_refused(read_partitions, path, expected)


@pytest.mark.parametrize(("document", "expected"), PLAN_FILES.values(), ids=PLAN_FILES)
def test_plan_file_is_refused(document: dict[str, Any], expected: dict[str, str], tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    path.write_text(json.dumps(document))
    assert_refused(read_plan, path, expected)


@pytest.mark.parametrize("key", plan_document(a_plan()))
def test_plan_file_without_a_key_is_refused(key: str, tmp_path: Path) -> None:
    document = plan_document(a_plan())
    del document[key]
    if key != "digest":
        document["digest"] = digest(document)
    path = tmp_path / "plan.json"
    path.write_text(json.dumps(document))
    assert_refused(read_plan, path, {WHOLE: f'the key "{key}" is missing'})


def test_utf8_bom_is_accepted(tmp_path: Path) -> None:
    path = tmp_path / "partitions.json"
    path.write_bytes(b"\xef\xbb\xbf" + text(entry()))
    assert read_partitions(str(path)) == (TopicPartition("foo", 0),)


READERS = [read_partitions, read_plan]


@pytest.mark.parametrize("read", READERS)
class TestWhatIsNoFile:
    def test_fifo(self, read: Callable[[str], object], tmp_path: Path) -> None:
        path = tmp_path / "fifo"
        os.mkfifo(path)
        assert_refused(read, path, {WHOLE: "is a FIFO, not a file"})

    def test_directory(self, read: Callable[[str], object], tmp_path: Path) -> None:
        assert_refused(read, tmp_path, {WHOLE: "is a directory, not a file"})

    def test_device(self, read: Callable[[str], object]) -> None:
        assert_refused(read, Path("/dev/zero"), {WHOLE: "is a character device, not a file"})

    def test_socket(self, read: Callable[[str], object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        # A socket's path has at most 107 characters.
        monkeypatch.chdir(tmp_path)
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind("socket")
            assert_refused(read, Path("socket"), {WHOLE: "is a socket, not a file"})

    def test_missing(self, read: Callable[[str], object], tmp_path: Path) -> None:
        assert_refused(read, tmp_path / "none.json", {WHOLE: "does not exist"})

    def test_link_to_itself(self, read: Callable[[str], object], tmp_path: Path) -> None:
        path = tmp_path / "link"
        path.symlink_to(path)
        assert_refused(read, path, {WHOLE: "could not be read: Too many levels of symbolic links"})

    def test_path_with_nul(self, read: Callable[[str], object]) -> None:
        assert_refused(read, Path("a\0b"), {WHOLE: "is not a path: embedded null byte"})

    def test_unreadable(self, read: Callable[[str], object], tmp_path: Path, as_nobody: None) -> None:
        assert_refused(read, Path("/proc/1/environ"), {WHOLE: "may not be read by uid"})


@pytest.mark.parametrize(("read", "room"), [(read_partitions, strict_json), (read_plan, plan_file)])
def test_over_the_size_limit(read: Callable[[str], object], room: Any, tmp_path: Path) -> None:
    """Return a sparse file that is one byte too large. To read it would take long."""
    path = tmp_path / "large.json"
    with path.open("wb") as file:
        file.truncate(room.MAX_BYTES + 1)
    assert_refused(read, path, {WHOLE: f"is larger than {room.MAX_BYTES:,} bytes"})


def test_file_that_has_no_size(tmp_path: Path) -> None:
    """Files in /proc have a reported size of 0."""
    assert_refused(read_partitions, Path("/proc/self/status"), {"line 1, column 1": "this is not JSON"})
