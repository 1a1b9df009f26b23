# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Every module that takes a file of partitions reads those of Kafka's own tools, and says what it ignores."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from lab import Cluster
from lab.module_process import run_module

MODULES: dict[str, dict[str, Any]] = {
    "offline_partition_info": {},
    "replica_log_info": {},
    "leader_candidate_info": {},
    "unclean_recovery": {},
    "redundancy": {},
    "log_cleaner_repair": {"brokers": [1], "metrics_source": "none"},
}
_RE_CREATES = "log_cleaner_repair"
"""This module re-creates the replicas that are named, so it wants each partition by its number."""
_FIRST, *_OTHERS = MODULES
# They read files by the same function.
of_each_module = pytest.mark.parametrize(
    "module", [_FIRST, *(pytest.param(each, marks=pytest.mark.wide) for each in _OTHERS)]
)
FILES = {
    "version, replicas of 2 entries, log_dirs of 1 entry": {
        "version": 1,
        "partitions": [
            {"topic": "orders", "partition": 0, "replicas": [1, 2, 3], "log_dirs": ["any", "any", "any"]},
            {"topic": "orders", "partition": 1, "replicas": [2, 3, 1]},
        ],
    },
    "version, offset of 1 entry": {"version": 1, "partitions": [{"topic": "orders", "partition": 0, "offset": -1}]},
    "": {"partitions": [{"topic": "orders"}]},
}


@of_each_module
def test_what_a_file_says_for_other_tools_is_ignored_and_noted(cluster: Cluster, tmp_path: Path, module: str) -> None:
    cluster.client.create_topic("orders", {0: (1, 2, 3), 1: (2, 3, 1)})
    files = [(ignored, content) for ignored, content in FILES.items() if ignored or module != _RE_CREATES]
    for number, (ignored, content) in enumerate(files):
        path = tmp_path / f"{number}.json"
        path.write_text(json.dumps(content))
        options = {"bootstrap_servers": [cluster.bootstrap()], "partitions_file": str(path), **MODULES[module]}
        result = run_module(module, options, check_mode=True)
        assert not result.get("failed"), result
        notes = [str(each) for each in result.get("warnings", []) if ": ignored " in str(each)]
        assert len(notes) == bool(ignored), result
        assert all(f"{path}: ignored {ignored}: only topics and partitions are read" in each for each in notes)


@of_each_module
def test_a_list_means_what_a_file_means(cluster: Cluster, tmp_path: Path, module: str) -> None:
    cluster.client.create_topic("orders", {0: (1, 2, 3), 1: (2, 3, 1)})
    named = [{"topic": "orders", "partitions": [0, 1]} if module == _RE_CREATES else {"topic": "orders"}]
    named.append({"topic": "order", "partitions": [3]})
    path = tmp_path / "partitions.json"
    path.write_text(json.dumps({"partitions": named}))
    common = {"bootstrap_servers": [cluster.bootstrap()], **MODULES[module]}
    listed, read = (
        run_module(module, {**common, **how}, check_mode=True)
        for how in ({"partitions": named}, {"partitions_file": str(path)})
    )
    assert listed["summary"] == read["summary"]
    rows = {name: value for name, value in listed.items() if name in ("partitions", "left_alone", "outcomes", "msg")}
    assert rows == {name: read[name] for name in rows}
    assert "order" in json.dumps(rows)
