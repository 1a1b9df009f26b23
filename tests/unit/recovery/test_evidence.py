# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Evidence is read back unchanged, or refused."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from ansible.module_utils.testing import patch_module_args

from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import Cause, ReplicaLog
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.engines import Engines
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.evidence import (
    PARTITIONS_FILE,
    REPLICA_LOGS_FILE,
    Evidence,
    EvidenceError,
    check_evidence_dir,
    read_evidence,
    write_evidence,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.make_plan import make_plan
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.on_this_host import OnThisHost
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.pipeline import plan_recovery, store_evidence
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.plan import INTERNAL_NOTE, RefusedBy
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.strategy import Policy, Strategy
from ansible_collections.kafkaops.recovery.plugins.module_utils._spark.options import EngineName, EngineOptions
from ansible_collections.kafkaops.recovery.plugins.modules import leader_candidate_info
from unit.fakes.brokers import a_log, a_partition
from unit.recovery.test_ranking import to_table
from unit.recovery.wreckage import an_offline_partition


@pytest.fixture
def evidence() -> Evidence:
    silent = [
        ReplicaLog("t", number, broker, cause=Cause.HUNG, error="no answer")
        for number, broker in ((0, 2), (1, 2), (1, 1))
    ]
    offline = a_partition("t", 0, (1, 2))._replace(elr=(1,), last_known_elr=(), isr=())
    return Evidence(
        cluster_id="M3DsSJ5pQ1uA0gmkc3rkqg",
        gathered_at="2026-01-02T03:04:05Z",
        collection_version="1.0.0",
        replica_logs=to_table([a_log("t", 0, 1, (5, 10), (7, 20)), *silent]),
        partitions=(offline, a_partition("t", 1, (2, 1))),
    )


def test_read_evidence_equals_written_evidence(evidence: Evidence, tmp_path: Path) -> None:
    assert read_evidence(write_evidence(evidence, tmp_path / "evidence")) == evidence


def test_a_plan_is_returned_if_its_report_cannot_be_written(
    evidence: Evidence, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As on a full disk: the look has found something all the same. Here the plan's own file takes the name first."""
    kept, same = str(write_evidence(evidence, tmp_path / "evidence")), str(tmp_path / "same.json")
    arguments = {"evidence": kept, "engine": "process", "plan_file": same, "report_file": same}
    with patch_module_args(arguments | {"_ansible_remote_tmp": str(tmp_path)}), pytest.raises(SystemExit):
        leader_candidate_info.main()
    results = json.loads(capsys.readouterr().out)
    assert results["failed"]
    assert results["msg"] == results["report_fault"]
    assert results["msg"].startswith(f"the report is not written: {same} is refused")
    assert sum(results["summary"].values()) == len(evidence.partitions)


def test_a_plan_from_evidence_says_that_spark_did_not_rank(
    evidence: Evidence, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    defaults = {name: each.get("default") for name, each in leader_candidate_info.ARGUMENTS.argument_spec.items()}
    planned = make_plan(defaults | {"evidence": str(write_evidence(evidence, tmp_path / "evidence"))})
    assert planned.engine is not None
    assert planned.engine.name is EngineName.PROCESS
    assert planned.notes == (f"the module worked without Spark: {planned.engine.reason}",)


@pytest.mark.parametrize("include_internal", [False, True])
def test_internal_topics_in_evidence_need_the_option_too(
    include_internal: bool, evidence: Evidence, tmp_path: Path
) -> None:
    """The run that gathered the evidence may have had the option."""
    _first, second = evidence.partitions
    offline = an_offline_partition(replicas=(1, 2), topic="t")._replace(is_internal=True)
    stored = str(write_evidence(replace(evidence, partitions=(offline, second)), tmp_path / "evidence"))
    defaults = {name: each.get("default") for name, each in leader_candidate_info.ARGUMENTS.argument_spec.items()}
    chosen = {"engine": "process", "recovery_strategy": "aggressive", "include_internal_topics": include_internal}
    plan = make_plan(defaults | chosen | {"evidence": stored}).plan
    assert [each.notes for each in plan.elections] == ([(INTERNAL_NOTE,)] if include_internal else [])
    refused = [each.topic_partition for each in plan.left_alone if each.refused_by is RefusedBy.INTERNAL_TOPIC]
    assert refused == ([] if include_internal else [offline.topic_partition])


def test_empty_evidence_is_read_back(evidence: Evidence, tmp_path: Path) -> None:
    nothing = replace(evidence, replica_logs=evidence.replica_logs.slice(0, 0), partitions=())
    assert read_evidence(write_evidence(nothing, tmp_path / "evidence")) == nothing


def test_two_gathers_of_the_same_second_are_side_by_side_and_private(evidence: Evidence, tmp_path: Path) -> None:
    one, other = (write_evidence(evidence, tmp_path) for _each in range(2))
    assert one != other
    assert one.parent == other.parent == tmp_path / f"cluster_id={evidence.cluster_id}"
    assert one.name.startswith("gather=20260102T030405Z-")
    assert one.stat().st_mode & 0o777 == 0o700


def test_a_directory_that_cannot_be_created_is_named(evidence: Evidence, tmp_path: Path) -> None:
    (tmp_path / "evidence").write_text("mine")
    with pytest.raises(EvidenceError, match="cannot be created: Not a directory"):
        write_evidence(evidence, tmp_path / "evidence")


@pytest.mark.parametrize("place", ["file", "hdfs://namenode/evidence", None])
def test_a_place_that_takes_no_evidence_costs_no_recovery(
    place: str | None, evidence: Evidence, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    Path("file").touch()
    with Engines(EngineOptions()) as engines:
        stored = store_evidence(engines, evidence, place)
    assert stored.place is not None
    assert stored.place.startswith(str(tmp_path))
    assert read_evidence(stored.place) == evidence
    assert [each.partition(": ")[0] for each in stored.notes] == [f"the evidence is not in {place}"] * bool(place)


def test_a_cluster_id_that_leaves_the_directory_is_refused(evidence: Evidence, tmp_path: Path) -> None:
    with pytest.raises(EvidenceError, match="not valid in the name of a directory"):
        write_evidence(replace(evidence, cluster_id="../../etc"), tmp_path)


@pytest.mark.parametrize(
    ("place", "by_spark", "complaint"),
    [
        ("hdfs://namenode/evidence", False, "only engine spark writes to one"),
        ("missing/evidence", True, "missing is not a directory"),
        ("file", False, "file is not a directory"),
    ],
)
def test_a_place_that_cannot_take_evidence_is_refused_before_anything_is_asked(
    place: str, by_spark: bool, complaint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("file").touch()
    Path("there").mkdir()
    for usable in (None, "there", "there/new"):
        check_evidence_dir(usable, by_spark=by_spark)
    with pytest.raises(EvidenceError, match=complaint):
        check_evidence_dir(place, by_spark=by_spark)


@pytest.mark.parametrize("file", [REPLICA_LOGS_FILE, PARTITIONS_FILE])
def test_damaged_evidence_is_refused(evidence: Evidence, tmp_path: Path, file: str) -> None:
    directory = write_evidence(evidence, tmp_path)
    path = directory / file
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(EvidenceError, match=f"{file} cannot be read"):
        read_evidence(directory)
    path.unlink()
    with pytest.raises(EvidenceError, match=f"{file} is missing"):
        read_evidence(directory)


def test_files_of_two_gathers_are_refused(evidence: Evidence, tmp_path: Path) -> None:
    one = write_evidence(evidence, tmp_path)
    two = write_evidence(replace(evidence, gathered_at="2026-01-02T03:04:06Z"), tmp_path)
    (two / PARTITIONS_FILE).replace(one / PARTITIONS_FILE)
    with pytest.raises(EvidenceError, match="different gathers"):
        read_evidence(one)


@pytest.mark.parametrize(
    ("metadata", "complaint"),
    [
        (None, "not written by this collection"),
        ({"kafkaops.recovery": "[]"}, "not written by this collection"),
        ({"kafkaops.recovery": '{"format": 3}'}, "has format 3; this version of the collection reads format 2"),
    ],
)
def test_a_foreign_stamp_is_refused(
    evidence: Evidence, tmp_path: Path, metadata: dict[str, str] | None, complaint: str
) -> None:
    directory = write_evidence(evidence, tmp_path)
    file = directory / REPLICA_LOGS_FILE
    pq.write_table(pq.ParquetFile(file).read().replace_schema_metadata(metadata), file)
    with pytest.raises(EvidenceError, match=complaint):
        read_evidence(directory)


def test_other_columns_are_refused(evidence: Evidence, tmp_path: Path) -> None:
    directory = write_evidence(evidence, tmp_path)
    file = directory / REPLICA_LOGS_FILE
    pq.write_table(pq.ParquetFile(file).read().drop_columns(["cause"]), file)
    with pytest.raises(EvidenceError, match="not those of a gather"):
        read_evidence(directory)


@pytest.mark.parametrize(
    ("logs", "complaint"),
    [
        ([a_log("t", 0, 1, (5, 10)), a_log("t", 0, 1, (5, 11))], "has a replica twice"),
        ([a_log("t", 0, 1, (5, 10), (5, 11))], "epochs do not rise"),
        ([a_log("t", 0, 1, (5, 10), (7, 9))], "end offsets fall"),
        ([ReplicaLog("t", 0, None)], "rows without broker_id"),  # type: ignore[arg-type]
        ([ReplicaLog("t", 0, 1, error=None)], "rows without error"),  # type: ignore[arg-type]
        ([ReplicaLog("t", 0, 1, cause="eaten")], "has the cause 'eaten', which is not known"),  # type: ignore[arg-type]
        ([replace(a_log("t", 0, 1, (5, 10)), log_start_offset=11)], "a log that ends before it starts"),
        ([a_log("t", 0, 1, (5, 10))], "does not have one row for each replica of its partitions"),
    ],
)
def test_evidence_that_was_changed_is_refused(
    logs: list[ReplicaLog], complaint: str, evidence: Evidence, tmp_path: Path
) -> None:
    directory = write_evidence(replace(evidence, replica_logs=to_table(logs)), tmp_path)
    with pytest.raises(EvidenceError, match=complaint):
        read_evidence(directory)


@pytest.mark.parametrize(
    ("lineage", "complaint"),
    [
        (None, "rows without lineage"),
        ([None], "an epoch or end offset is missing"),
        ([{"epoch": None, "end_offset": 10}], "an epoch or end offset is missing"),
        ([{"epoch": 5, "end_offset": None}], "an epoch or end offset is missing"),
    ],
)
def test_evidence_with_a_part_of_a_lineage_is_refused(
    lineage: object, complaint: str, evidence: Evidence, tmp_path: Path
) -> None:
    """The engines would not agree about it."""
    logs = to_table([a_log("t", 0, 1, (5, 10))])
    place, field = logs.schema.get_field_index("lineage"), logs.schema.field("lineage")
    changed = logs.set_column(place, field, pa.array([lineage], field.type))
    directory = write_evidence(replace(evidence, replica_logs=changed), tmp_path)
    with pytest.raises(EvidenceError, match=complaint):
        read_evidence(directory)


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"isr": None}, "rows without isr"),
        ({"isr": (1, None)}, "rows without isr"),
        ({"topic_id": None}, "rows without topic_id"),
        ({"leader_id": 1}, "has a partition with a leader"),
        ({"replicas": (1, 2, 3)}, "does not have one row for each replica of its partitions"),
        ({"replicas": (1,)}, "does not have one row for each replica of its partitions"),
    ],
)
def test_partitions_that_were_changed_are_refused(
    change: dict[str, Any], complaint: str, evidence: Evidence, tmp_path: Path
) -> None:
    """A replica that has no row would count as one that holds nothing."""
    first, second = evidence.partitions
    changed = replace(evidence, partitions=(first._replace(**change), second))
    with pytest.raises(EvidenceError, match=complaint):
        read_evidence(write_evidence(changed, tmp_path))


def test_the_lineages_of_two_replicas_are_not_taken_for_one(evidence: Evidence, tmp_path: Path) -> None:
    logs = to_table([a_log("t", 0, 1, (5, 10)), a_log("t", 0, 2, (4, 9)), a_log("t", 0, 3)])
    changed = replace(evidence, replica_logs=logs, partitions=(a_partition("t", 0, (1, 2, 3)),))
    assert read_evidence(write_evidence(changed, tmp_path)) == changed


@pytest.mark.parametrize(("rebuilt", "is_warned"), [((), False), ((2,), False), ((1, 2), True)])
def test_a_leader_without_its_epoch_checkpoint_is_to_be_restarted_first(
    tmp_path: Path, rebuilt: tuple[int, ...], is_warned: bool
) -> None:
    """Broker 1 has the longest log. What another broker's checkpoint lacks does not matter to its election."""
    logs = [
        replace(a_log("t", 0, broker, (5, end)), is_rebuilt=broker in rebuilt) for broker, end in ((1, 20), (2, 10))
    ]
    offline = an_offline_partition(replicas=(1, 2), topic="t")
    gathered = Evidence("M3DsSJ5pQ1uA0gmkc3rkqg", "2026-01-02T03:04:05Z", "1.0.0", to_table(logs), (offline,))
    stored = write_evidence(gathered, tmp_path)
    (election,) = plan_recovery(OnThisHost(), read_evidence(stored), {"t": Policy(Strategy.AGGRESSIVE)}).elections
    assert election.designated_leader == 1
    assert any("leader-epoch-checkpoint of broker 1" in each for each in election.notes) == is_warned
