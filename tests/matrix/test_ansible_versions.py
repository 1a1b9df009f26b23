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

import pytest

from lab import Cluster, scenarios
from publish.installation import Installation, installed, interpreter

pytestmark = pytest.mark.timeout(1200)

# ansible-core 2.18 and 2.19 run on Python 3.11 to 3.13, and 2.20 on 3.12 to 3.14.
LINES = [("2.18", "3.11"), ("2.19", "3.12"), ("2.20", "3.13")]


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with Cluster() as started:
        yield started


@pytest.fixture(scope="module", params=LINES, ids=["-".join(each) for each in LINES])
def installation(request: pytest.FixtureRequest) -> Iterator[Installation]:
    ansible_core, python = request.param
    with installed(interpreter(python), ansible_core, only_the_kept=True) as made:
        assert f"core {ansible_core}." in made.output("ansible-playbook", "--version")
        yield made


def test_every_playbook(cluster: Cluster, installation: Installation, tmp_path: Path) -> None:
    topic = f"lost-{installation.directory.name}"
    offline = scenarios.diverged(cluster, topic)
    connection = {"kafka_bootstrap_servers": cluster.bootstrap(), "kafka_request_timeout_ms": 10_000}

    def run(playbook: str, *arguments: str, **variables: object) -> str:
        ran = installation.run(f"kafkaops.recovery.{playbook}", {**connection, **variables}, *arguments)
        assert ran.returncode == 0, ran.output
        # What a later ansible-core removes is announced by the one before it.
        assert "DEPRECATION" not in ran.output, ran.output
        return ran.output

    run("check_quorum", quorum_preflight_fail_on="critical")
    plan, report = tmp_path / "plan.json", tmp_path / "report.json"
    every_partition = {"unclean_recovery_partitions": [{"topic": topic, "partition": 0}]}
    run(
        "recover_offline_partitions",
        **every_partition,
        unclean_recovery_strategy="aggressive",
        unclean_recovery_manual_output_file=str(plan),
    )
    run("renew_plan_digest", unclean_recovery_plan_file=str(plan))
    run(
        "recover_offline_partitions",
        unclean_recovery_plan_file=str(plan),
        unclean_recovery_automated_recovery=True,
        unclean_recovery_report_file=str(report),
    )
    (recovered,) = json.loads(report.read_text(encoding="utf-8"))["partitions"]
    assert recovered["status"] == "recovered"
    assert cluster.client.describe(topic, broker=offline.best)[0].leader == offline.best
    cluster.brokers[offline.replicas[0]].start()
    in_file = {"leadership_drain_memory": "file", "kafka_journal_dir": str(tmp_path / "journal")}
    run("drain_leadership", leadership_drain_brokers=[offline.best], **in_file)
    assert cluster.client.describe(topic, broker=offline.best)[0].replicas[-1] == offline.best
    run("restore_leadership", **in_file)
    assert list(cluster.client.describe(topic, broker=offline.best)[0].replicas) == list(offline.replicas)
    run("recover_log_cleaners", "--check")
