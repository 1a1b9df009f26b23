# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Where a server.properties says that the metadata log is."""

from __future__ import annotations

from pathlib import Path

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._quorum_recovery.node import (
    NodeFileError,
    read_properties,
)


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
