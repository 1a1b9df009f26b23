# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A replay gives each saved record back exactly once, also if runs are killed."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from pathlib import Path
from subprocess import Popen
from typing import Any

import pytest
from confluent_kafka.admin import AdminClient

from integration.salvage.disks import salvage
from integration.salvage.oracle import Known, Oracle, in_short, read_all
from integration.salvage.wreck import (
    BROKER_CODECS,
    CLIENT_CODECS,
    COMPACTED,
    INTERNAL_TOPICS,
    KEYS,
    LAST_LEADER,
    LEDGER,
    LONGER,
    NEWER_KEYS,
    STEADY,
    TOPICS,
)
from lab import Cluster, settings, wait_until
from lab.module_process import run_module, start_module

TOPICS_LOST = tuple(each for each in TOPICS if each != STEADY)
_HEADERS = "kafkaops.salvage."
_PARTITIONS = {CLIENT_CODECS: range(5)}


@pytest.fixture(scope="module")
def saved(oracle: Oracle, tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("replay") / "saved"
    salvage(oracle.cluster, directory)
    return directory


def give_back(cluster: Cluster, directory: Path, *, check_mode: bool = False, **more: object) -> dict[str, Any]:
    return run_module("salvage_replay", _options(cluster, directory, **more), check_mode=check_mode)


def _options(cluster: Cluster, directory: Path, **more: object) -> dict[str, object]:
    options = {"bootstrap_servers": [cluster.bootstrap()], "request_timeout_ms": 10_000, "salvage_dir": str(directory)}
    return {**options, **more}


def topics_of(cluster: Cluster) -> set[str]:
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap(settings.INTERNAL), "log_level": 0})
    return set(admin.list_topics(timeout=10).topics)


def returned(cluster: Cluster, topics: Iterable[str], suffix: str = "") -> list[Known]:
    """Return the records that were given back, with the origin that their headers name."""
    found = []
    for topic in topics:
        for each in read_all(cluster, topic + suffix, _PARTITIONS.get(topic, range(1))):
            origin = {name.removeprefix(_HEADERS): value for name, value in each.headers if name.startswith(_HEADERS)}
            if not origin:
                continue
            assert (origin["topic"], origin["partition"]) == (topic.encode(), b"%d" % each.partition)
            assert (origin["broker"], origin["cluster"]) == (b"%d" % LAST_LEADER, cluster.cluster_id.encode())
            headers = tuple(one for one in each.headers if not one[0].startswith(_HEADERS))
            found.append(replace(each, topic=topic, offset=int(origin["offset"] or b""), headers=headers))
    return sorted(found, key=lambda each: (each.topic, each.partition, each.offset))


def settled(records: Iterable[Known], *outcomes: str) -> list[Known]:
    """Return the records of these outcomes, without their outcome: a consumer does not see it."""
    return [replace(each, outcome="none") for each in records if each.outcome in outcomes]


def of_partition(result: dict[str, Any], topic: str) -> dict[str, Any]:
    (found,) = (each for each in result["partitions"] if each["topic"] == topic)
    return dict(found)


def test_check_mode_counts_and_writes_nothing(oracle: Oracle, saved: Path) -> None:
    before = topics_of(oracle.cluster)
    result = give_back(oracle.cluster, saved, check_mode=True, progress_topic="unused")
    ledger = of_partition(result, LEDGER)
    assert (ledger["status"], ledger["left_out"]) == ("would_be_given_back", {"aborted": 20, "unknown": 20})
    assert ledger["to_give"] == len(settled(oracle.of("lost", LEDGER), "none", "committed"))
    assert ledger["target_topic"] == f"{LEDGER}.salvaged"
    assert result["changed"]
    assert topics_of(oracle.cluster) == before


def test_every_lost_record_is_given_back_once(oracle: Oracle, saved: Path) -> None:
    """The records have all codecs, headers, null keys and values, and are large. Internal topics are left out."""
    result = give_back(oracle.cluster, saved)
    assert "msg" not in result, result["msg"]
    expected = settled(oracle.of("lost"), "none", "committed")
    assert in_short(returned(oracle.cluster, TOPICS_LOST, ".salvaged")) == in_short(expected)
    assert result["summary"]["given"] == len(expected)
    statuses = {each["topic"]: each["status"] for each in result["partitions"]}
    assert statuses == {**dict.fromkeys(TOPICS_LOST, "given_back"), **dict.fromkeys(INTERNAL_TOPICS, "never_replayed")}
    ledgers = oracle.cluster.client.describe("_kafkaops_salvage", broker=LONGER)
    assert len(ledgers[0].replicas) == 3, "a dead broker gets its copy when it returns"
    again = give_back(oracle.cluster, saved)
    assert (again["changed"], again["summary"]["given_before"]) == (False, len(expected))


@pytest.mark.wide
def test_records_of_unknown_outcome_are_given_back_only_if_allowed(oracle: Oracle, saved: Path) -> None:
    """An earlier run gave all other records back. They are not given back again."""
    options: dict[str, Any] = {"topics": [LEDGER], "target": "original", "progress_topic": "opt-in"}
    give_back(oracle.cluster, saved, **options)
    result = give_back(oracle.cluster, saved, **options, include_unknown=True)
    assert result["summary"]["given"] == 20
    expected = settled(oracle.of("lost", LEDGER), "none", "committed", "unknown")
    assert in_short(returned(oracle.cluster, [LEDGER])) == in_short(expected)


@pytest.mark.wide
def test_a_compacted_topic_keeps_its_newer_records(oracle: Oracle, saved: Path) -> None:
    options: dict[str, Any] = {"topics": [COMPACTED], "target": "original", "progress_topic": "kept-compacted"}
    refused = give_back(oracle.cluster, saved, **options)
    assert "is compacted" in refused["msg"]
    assert refused["account"]["total"]["still_lost"] == len(oracle.of("lost", COMPACTED))
    result = give_back(oracle.cluster, saved, **options, include_compacted=True)
    assert of_partition(result, COMPACTED)["left_out"] == {"newer_key": len(NEWER_KEYS)}
    again = give_back(oracle.cluster, saved, **options, include_compacted=True)
    for one in (result, again):
        assert one["account"]["total"]["still_lost"] == 0, "a record whose key has a newer one is not lost"
    read = read_all(oracle.cluster, COMPACTED, [0])
    newest = {each.key: each.value for each in read}
    lost = {each.key: each.value for each in oracle.of("lost", COMPACTED)}
    after = {each.key: each.value for each in oracle.of("after", COMPACTED)}
    assert newest == {**lost, **after}
    assert len(newest) == len(KEYS)


@pytest.mark.wide
def test_a_killed_run_is_continued_without_gap_or_duplicate(oracle: Oracle, saved: Path, tmp_path: Path) -> None:
    """Runs are killed one after another: at every step that a run reports, and during its transactions."""
    topic = BROKER_CODECS["lz4"]
    more: dict[str, Any] = {
        "topics": [topic],
        "throttle_bytes_per_second": 4_000_000,
        "progress_topic": "killed",
        "target": "original",
    }
    steps = ["verifying", "starting transactions", "counting", "giving records back", *["giving records back, "] * 4]
    for number, step in enumerate(steps):
        path = tmp_path / f"progress-{number}"
        module = start_module("salvage_replay", _options(oracle.cluster, saved, **more, progress_file=str(path)))
        # On a busy machine, a run may have given back the rest before it is killed.
        wait_until(partial(_has_reached_or_ended, module, path, step), 60, what=f"step {step}", interval=0.01)
        module.kill()
        module.communicate()
    result = give_back(oracle.cluster, saved, **more)
    assert "msg" not in result
    assert result["summary"]["given_before"] > 0
    assert in_short(returned(oracle.cluster, [topic])) == in_short(settled(oracle.of("lost", topic), "none"))


def _has_reached_or_ended(module: Popen[str], path: Path, step: str) -> bool:
    if module.poll() is not None:
        return True
    if not path.exists():
        return False
    whole = path.read_text(encoding="utf-8").split("\n")[:-1]
    return any(json.loads(line)["text"].startswith(step) for line in whole)
