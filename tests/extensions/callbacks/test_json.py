# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""With the callbacks of ansible.posix that write JSON, stdout is JSON and nothing else, whatever playbook runs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from extensions.awx_parts import downloaded_collections
from lab import Cluster, scenarios
from lab.playbook import PROJECT

PLAYBOOKS = sorted(each.stem for each in (PROJECT / "playbooks").glob("*.yml"))
_HERE = "{directory}"
VARIABLES: dict[str, dict[str, str]] = {
    "check_stop": {"stop_gate_brokers": "2"},
    "drain_leadership": {"leadership_drain_brokers": "2"},
    "exposure_report": {"exposure_report_recordings": f"{_HERE}/recordings"},
    "incident_report": {"incident_report_dir": _HERE, "incident_report_html": f"{_HERE}/incident.html"},
    "record_cluster": {"cluster_recorder_dir": f"{_HERE}/recordings"},
    "recover_quorum": {
        "quorum_recovery_hosts": "localhost",
        "quorum_recovery_properties": f"{_HERE}/controller.properties",
        "quorum_recovery_lost_voters": "1",
    },
    "renew_plan_digest": {"unclean_recovery_plan_file": f"{_HERE}/plan.json"},
    "replace_controller": {"controller_replacement_voter_id": "103"},
    "replay_salvaged_records": {"salvage_replay_dir": f"{_HERE}/saved"},
    "restore_redundancy": {"redundancy_lost_brokers": "1"},
    "salvage_logs": {"log_salvage_log_dirs": f"{_HERE}/disk", "log_salvage_dir": f"{_HERE}/saved"},
}
"""What a playbook needs. Some find nothing to do, or no such file: that is JSON, too."""
_WITHOUT_A_CLUSTER = frozenset({"exposure_report", "incident_report", "renew_plan_digest"})

_WITHOUT_TABLES = frozenset[str]()


@pytest.fixture(scope="module")
def outage() -> Iterator[Cluster]:
    """Return a cluster whose broker 1 is dead, and a topic without leaders."""
    with Cluster() as cluster:
        scenarios.diverged(cluster, "orders", 3)
        yield cluster


def _run(cluster: Cluster, playbook: str, callback: str, directory: Path) -> subprocess.CompletedProcess[str]:
    variables = {key: value.format(directory=directory) for key, value in VARIABLES.get(playbook, {}).items()}
    if playbook not in _WITHOUT_A_CLUSTER:
        variables["kafka_bootstrap_servers"] = cluster.bootstrap()
    own = Path(sys.executable).parents[1] / "collections"
    return subprocess.run(
        [
            Path(sys.executable).with_name("ansible-playbook"),
            f"kafkaops.recovery.{playbook}",
            *(word for name, value in variables.items() for word in ("-e", f"{name}={value}")),
        ],
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


@pytest.mark.parametrize("callback", ["json", "jsonl"])
@pytest.mark.parametrize("playbook", PLAYBOOKS)
def test_stdout_is_json(outage: Cluster, playbook: str, callback: str, tmp_path: Path) -> None:
    ran = _run(outage, playbook, callback, tmp_path)
    documents = [ran.stdout] if callback == "json" else ran.stdout.splitlines()
    decoded = [json.loads(each) for each in documents]
    assert decoded[-1]["stats"]["localhost"], ran.stderr
    lines = [*_texts(decoded)]
    # What a person reads is in the result, too, and stands on stderr.
    assert all(each in ran.stderr for each in lines)
    assert bool(lines) == (playbook not in _WITHOUT_TABLES), ran.stderr


def _texts(value: object) -> Iterator[str]:
    """Yield the lines that tasks printed."""
    if isinstance(value, dict):
        for key, each in value.items():
            yield from each if key == "text" and isinstance(each, list) else _texts(each)
    elif isinstance(value, list):
        for each in value:
            yield from _texts(each)
