# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Where a server.properties says that the metadata log is."""

from __future__ import annotations

from pathlib import Path

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._quorum_recovery.node import (
    NodeFileError,
    parse_voters,
    read_properties,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._quorum_recovery.plan import format_voters


def _write(directory: Path, text: str) -> str:
    path = directory / "server.properties"
    path.write_text(f"node.id=1\n{text}\n", encoding="utf-8")
    return str(path)


@pytest.mark.parametrize(
    ("text", "log_dir"),
    [
        ("log.dirs =  /a/b , /c", "/a/b"),
        ("log.dirs=/a\nmetadata.log.dir=/m", "/m"),
        ("log.dirs=/a\nmetadata.log.dir=", "/a"),
        ("log.dir=/a", "/a"),
        ("", "/tmp/kafka-logs"),
    ],
)
def test_the_metadata_log_is_where_kafka_has_it(tmp_path: Path, text: str, log_dir: str) -> None:
    assert read_properties(_write(tmp_path, text)).require_log_dir() == log_dir


@pytest.mark.parametrize(
    "value", ["data/controller", "${env:KAFKA_DATA}", "${file:/etc/kafka/dirs:log}", "/a/log${ID}", ","]
)
@pytest.mark.parametrize("name", ["log.dirs", "metadata.log.dir"])
def test_a_place_that_only_the_node_knows_is_no_empty_disk(tmp_path: Path, name: str, value: str) -> None:
    properties = read_properties(_write(tmp_path, f"{name}={value}"))
    with pytest.raises(NodeFileError, match="which is no whole path: only the node itself knows"):
        properties.require_log_dir()


@pytest.mark.parametrize(("text", "reason"), [("node.id=${STRIMZI_BROKER_ID}", "only the node itself"), ("", "has no")])
def test_the_number_of_a_node_may_be_a_placeholder(tmp_path: Path, text: str, reason: str) -> None:
    path = tmp_path / "server.properties"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(NodeFileError, match=f"{reason}.*"):
        read_properties(str(path))


@pytest.mark.parametrize(
    ("text", "after"),
    [
        ("1@kafka_1:9093, 2@c2:9093", "1@kafka_1:9093,2@c2:9093"),
        ("1@[fe80::1]:9093", "1@[fe80::1]:9093"),
        ("1@fe80::1:9093", "1@[fe80::1]:9093"),
        ("1@CONTROLLER://c1:9093", "1@c1:9093"),
    ],
)
def test_addresses_of_voters_are_read_as_kafka_reads_them(text: str, after: str) -> None:
    assert format_voters(tuple(parse_voters(text, "any.properties"))) == after


@pytest.mark.parametrize("text", ["1@c1", "1@:9093", "c1:9093", "x@c1:9093", "1@c1:port"])
def test_an_entry_that_kafka_refuses(text: str) -> None:
    with pytest.raises(NodeFileError, match=r"any.properties: .* is not ID@HOST:PORT"):
        parse_voters(text, "any.properties")
