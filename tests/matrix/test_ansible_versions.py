# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Each supported release line of ansible-core and of Python, with only meta/, plugins/, roles/ and playbooks/.

Part of ``make test-all``. Each line has a virtual environment of its own.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lab import Cluster, scenarios
from lab.playbook import PROJECT
from publish.installation import Installation, installed, interpreter
from unit.roles.role import CONNECTIONS
from unit.roles.spellings import CHECKED, rounds

pytestmark = pytest.mark.timeout(1200)

# ansible-core 2.18 and 2.19 run on Python 3.11 to 3.13, and 2.20 and 2.21 on 3.12 to 3.14.
LINES = [("2.18", "3.11"), ("2.19", "3.12"), ("2.20", "3.12"), ("2.21", "3.13")]


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    """Start one for each line: a replay creates internal topics, which lose their leader with the next topic."""
    with Cluster(controllers=3, dynamic_quorum=True) as started:
        yield started


@pytest.fixture(scope="module", params=LINES, ids=["-".join(each) for each in LINES])
def installation(request: pytest.FixtureRequest) -> Iterator[Installation]:
    ansible_core, python = request.param
    with installed(interpreter(python), ansible_core, only_the_kept=True) as made:
        assert f"core {ansible_core}." in made.output("ansible-playbook", "--version")
        yield made


class Playbooks:
    """Runs the playbooks of an installation, and records their names."""

    def __init__(self, installation: Installation, cluster: Cluster, directory: Path) -> None:
        self.ran: set[str] = set()
        self._installation = installation
        self._directory = directory
        controllers = ",".join(f"{each.host}:{each.port}" for each in cluster.controllers.values())
        self._connection = {
            "kafka_bootstrap_servers": cluster.bootstrap(),
            "kafka_bootstrap_controllers": controllers,
            "kafka_request_timeout_ms": 10_000,
        }

    def run(self, playbook: str, *arguments: str, exit_status: int = 0, **variables: object) -> str:
        """Run a playbook, and return its output."""
        ran = self._installation.run(f"kafkaops.recovery.{playbook}", {**self._connection, **variables}, *arguments)
        assert ran.returncode == exit_status, ran.output
        # ansible-core announces removals one release earlier.
        assert "DEPRECATION" not in ran.output, ran.output
        self.ran.add(playbook)
        return ran.output

    def report(self, name: str) -> dict[str, Any]:
        """Return a report that a playbook wrote below the directory."""
        decoded: dict[str, Any] = json.loads((self._directory / name).read_text(encoding="utf-8"))
        return decoded


def test_every_playbook(cluster: Cluster, installation: Installation, tmp_path: Path) -> None:
    playbooks = Playbooks(installation, cluster, tmp_path)
    replace_a_controller(playbooks, cluster)
    topic = f"lost-{installation.directory.name}"
    offline = scenarios.diverged(cluster, topic)
    recover(playbooks, topic, tmp_path)
    assert playbooks.report("report.json")["partitions"][0]["status"] == "recovered"
    assert cluster.client.describe(topic, broker=offline.best)[0].leader == offline.best
    give_back(playbooks, [str(each) for each in cluster.brokers[offline.replicas[0]].data_dirs], tmp_path)
    # The one record that only the dead broker has.
    assert len(cluster.client.consume_all(f"{topic}.salvaged", 0)) == 1

    cluster.brokers[offline.replicas[0]].start()
    playbooks.run("check_readiness")
    playbooks.run("drain_leadership", leadership_drain_brokers=[offline.best])
    assert cluster.client.describe(topic, broker=offline.best)[0].replicas[-1] == offline.best
    playbooks.run("restore_leadership")
    assert list(cluster.client.describe(topic, broker=offline.best)[0].replicas) == list(offline.replicas)
    playbooks.run("recover_log_cleaners", "--check")
    playbooks.run("record_cluster", cluster_recorder_dir=str(tmp_path / "recordings"))
    refuse_what_is_not_needed(playbooks, cluster)
    assert playbooks.ran == {each.stem for each in (PROJECT / "playbooks").glob("*.yml")}


def replace_a_controller(playbooks: Playbooks, cluster: Cluster) -> None:
    """Replace a controller's disk, and let the playbook add it as a voter again.

    A leader that starts with an empty disk before another one is elected ends with an IllegalStateException (4.3.1).
    """
    voter = next(each for each in cluster.controllers if each != cluster.active_controller().node_id)
    cluster.controllers[voter].kill()
    cluster.controllers[voter].wipe()
    cluster.controllers[voter].start()
    playbooks.run("replace_controller", controller_replacement_voter_id=voter)
    playbooks.run("check_quorum", quorum_preflight_fail_on="critical")


def refuse_what_is_not_needed(playbooks: Playbooks, cluster: Cluster) -> None:
    """Nothing is lost any more: no replica is replaced, all brokers must not stop, and the quorum is not recovered."""
    unchanged = playbooks.run("restore_redundancy", redundancy_lost_brokers=[1], redundancy_automated_recovery=True)
    assert "changed=0" in unchanged
    playbooks.run("check_stop", stop_gate_brokers=sorted(cluster.brokers), exit_status=2)
    voter = min(cluster.controllers)
    refused = playbooks.run(
        "recover_quorum",
        quorum_recovery_hosts="localhost",
        quorum_recovery_properties=str(cluster.work_dir / f"controller-{voter}.properties"),
        quorum_recovery_lost_voters=[each for each in cluster.controllers if each != voter],
        exit_status=2,
    )
    assert "answer" in refused


def recover(playbooks: Playbooks, topic: str, directory: Path) -> None:
    """Plan, compare the plan as data with the cluster, renew the digest without an edit, and carry out the file."""
    plan = str(directory / "plan.json")
    planned = playbooks.run(
        "recover_offline_partitions",
        unclean_recovery_partitions=[{"topic": topic, "partition": 0}],
        unclean_recovery_strategy="aggressive",
        unclean_recovery_manual_output_file=plan,
    )
    data = published(planned)
    del data["unclean_recovery_summary"]
    compared = published(playbooks.run("recover_offline_partitions", unclean_recovery_show_replica_info=True, **data))
    assert compared["unclean_recovery_summary"]["partitions"]["would_recover"] == 1
    playbooks.run("renew_plan_digest", unclean_recovery_plan_file=plan)
    playbooks.run(
        "recover_offline_partitions",
        unclean_recovery_plan_file=plan,
        unclean_recovery_automated_recovery=True,
        unclean_recovery_report_file=str(directory / "report.json"),
    )


def published(output: str) -> dict[str, Any]:
    """Return the data that a playbook published with set_stats."""
    stats: dict[str, Any] = json.loads(output.rpartition("RUN: ")[2].splitlines()[0])
    return stats


def give_back(playbooks: Playbooks, log_dirs: list[str], directory: Path) -> None:
    """Save the records that only a dead broker holds, replay them, and write a page about it."""
    saved = str(directory / "saved")
    playbooks.run("salvage_logs", log_salvage_log_dirs=log_dirs, log_salvage_dir=saved)
    playbooks.run("replay_salvaged_records", salvage_replay_dir=saved)
    page = directory / "incident.html"
    playbooks.run("incident_report", incident_report_dir=str(directory), incident_report_html=str(page))
    assert "</html>" in page.read_text(encoding="utf-8")


@pytest.mark.parametrize("role", CHECKED)
def test_every_spelling_of_every_variable(role: str, installation: Installation) -> None:
    """An option has the same value however it was typed, with this ansible-core's templates and conditions."""
    directory = installation.directory
    play = directory / "spellings.yml"
    tasks = [
        {"kafkaops.recovery.role_variables": {"role": role}, "register": "result"},
        {"ansible.builtin.copy": {"content": "{{ result | to_json }}", "dest": str(directory / "result.json")}},
    ]
    play.write_text(json.dumps([{"hosts": "localhost", "gather_facts": False, "tasks": tasks}]), encoding="utf-8")
    for typed, meant in rounds(role):
        ran = installation.run(str(play), typed)
        assert ran.returncode == 0, ran.output
        result = json.loads((directory / "result.json").read_text(encoding="utf-8"))
        own = {f"{role}_{name}": value for name, value in result["options"].items()}
        shared = {f"kafka_{name}": result[group][name] for group in CONNECTIONS for name in result[group]}
        for name, value in {**own, **shared}.items():
            wanted = meant[name]
            if isinstance(wanted, str) and wanted.startswith("/start"):
                wanted = f"{directory}{wanted.removeprefix('/start')}"
            assert value == wanted, (name, typed[name])
