# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""With the callbacks of ansible.posix that write JSON, stdout is JSON and nothing else, whatever playbook runs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from extensions.awx_parts import downloaded_collections
from lab import Cluster, scenarios
from lab.playbook import PROJECT, RECOVER

# Every playbook runs, one after the other.
pytestmark = pytest.mark.timeout(1200)
_REFUSED = frozenset({"recover_quorum", "replace_controller"})
"""These are refused here before they print."""


def _runs(cluster: Cluster, directory: Path, dead: int) -> Iterator[tuple[str, Mapping[str, object]]]:
    """Yield playbooks with their variables, in an order in which each one finds what it reads."""
    kafka: dict[str, object] = {"kafka_bootstrap_servers": cluster.bootstrap()}
    disks = [str(each) for each in cluster.brokers[dead].data_dirs]
    recordings, saved, plan = (str(directory / name) for name in ("recordings", "saved", "plan.json"))
    some = {"unclean_recovery_all_offline_partitions": True, "unclean_recovery_strategy": "aggressive"}
    yield "recover_offline_partitions", {**kafka, **some, "unclean_recovery_manual_output_file": plan}
    yield "renew_plan_digest", {"unclean_recovery_plan_file": plan}
    elect: dict[str, object] = {"unclean_recovery_automated_recovery": True}
    yield "recover_offline_partitions", {**kafka, **some, **elect}
    yield "salvage_logs", {**kafka, "log_salvage_log_dirs": disks, "log_salvage_dir": saved}
    yield "record_cluster", {**kafka, "cluster_recorder_dir": recordings}
    yield "exposure_report", {"exposure_report_recordings": recordings}
    yield "replay_salvaged_records", {**kafka, "salvage_replay_dir": saved}
    page = {"incident_report_dir": str(directory), "incident_report_html": str(directory / "incident.html")}
    yield "incident_report", page
    yield "check_readiness", kafka
    yield "check_quorum", kafka
    yield "check_stop", {**kafka, "stop_gate_brokers": "2"}
    yield "drain_leadership", {**kafka, "leadership_drain_brokers": "2"}
    yield "restore_leadership", kafka
    yield "recover_log_cleaners", kafka
    yield "restore_groups", kafka
    yield "restore_redundancy", {**kafka, "redundancy_lost_brokers": dead}
    yield "replace_controller", {**kafka, "controller_replacement_voter_id": 103}
    properties = {"quorum_recovery_properties": str(directory / "none.properties"), "quorum_recovery_lost_voters": "1"}
    yield "recover_quorum", {"quorum_recovery_hosts": "localhost", **properties}


def _run(playbook: str, variables: Mapping[str, object], callback: str, directory: Path) -> tuple[str, str]:
    """Run a playbook, and return its stdout and stderr."""
    own = Path(sys.executable).parents[1] / "collections"
    program = Path(sys.executable).with_name("ansible-playbook")
    ran = subprocess.run(
        [program, f"{RECOVER.rpartition('.')[0]}.{playbook}", "-e", json.dumps(variables)],
        cwd=directory,
        env={
            **os.environ,
            "ANSIBLE_STDOUT_CALLBACK": f"ansible.posix.{callback}",
            "ANSIBLE_COLLECTIONS_PATH": f"{own}:{downloaded_collections()}",
            "XDG_STATE_HOME": str(directory / "state"),
        },
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        timeout=240,
        check=False,
    )
    return ran.stdout, ran.stderr


@pytest.fixture
def outage() -> Iterator[tuple[Cluster, int]]:
    """Return a cluster with partitions that have no leader, and the broker that is dead."""
    with Cluster() as cluster:
        yield cluster, scenarios.diverged(cluster, "orders", 3).replicas[0]


@pytest.mark.parametrize("callback", ["json", "jsonl"])
def test_stdout_is_json(outage: tuple[Cluster, int], callback: str, tmp_path: Path) -> None:
    ran = set()
    for playbook, variables in _runs(outage[0], tmp_path, outage[1]):
        stdout, stderr = _run(playbook, variables, callback, tmp_path)
        documents = [json.loads(each) for each in ([stdout] if callback == "json" else stdout.splitlines())]
        assert documents[-1]["stats"]["localhost"], stderr
        if playbook not in _REFUSED:
            # What a person reads is in the result, too, and stands on stderr.
            lines = [*_texts(documents)]
            assert lines, (playbook, stdout, stderr)
            assert all(each in stderr for each in lines)
        ran.add(playbook)
    assert ran == {each.stem for each in (PROJECT / "playbooks").glob("*.yml")}


def _texts(value: object) -> Iterator[str]:
    """Yield the lines that tasks printed."""
    if isinstance(value, dict):
        for key, each in value.items():
            yield from each if key == "text" and isinstance(each, list) else _texts(each)
    elif isinstance(value, list):
        for each in value:
            yield from _texts(each)
