# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Commands as a person types them: variables are strings, and paths begin where the person stands."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lab import Cluster, scenarios
from lab.leadership import leaders, orders
from lab.playbook import RECOVER, PlaybookRun, typed


def run(cluster: Cluster, directory: Path, playbook: str, *arguments: str, **variables: str) -> PlaybookRun:
    given = {"kafka_bootstrap_servers": cluster.bootstrap(), **variables}
    if playbook == RECOVER:
        # integration/commands runs the same commands on Spark, which takes 8 CPU seconds of each run.
        given["unclean_recovery_engine"] = "process"
    words = [word for name, value in given.items() for word in ("-e", f"{name}={value}")]
    return typed(directory, "ansible-playbook", playbook, *words, *arguments)


@pytest.mark.wide
def test_a_look_a_slip_and_a_recovery_from_another_directory(cluster: Cluster, tmp_path: Path) -> None:
    offline = scenarios.diverged(cluster, "typed")

    look = run(cluster, tmp_path, RECOVER)
    # An alert watches the exit status: a partition is offline.
    assert look.returncode != 0, look.output
    assert "typed 0" in look.words, look.output
    assert "add -e unclean_recovery_lost_brokers=1" in look.words, "balanced waits for the broker that led last"
    assert f"ansible-playbook {RECOVER} \\" in look.words, "the next command"

    refused = run(
        cluster,
        tmp_path,
        RECOVER,
        unclean_recovery_all_offline_partitions="true",
        unclean_recovery_automated_recovery="true",
        unclean_recovery_max_lost_record="0",
    )
    assert refused.returncode != 0
    assert "did you mean unclean_recovery_max_lost_records?" in refused.words
    assert cluster.client.describe("typed", broker=offline.best)[0].leader is None

    (tmp_path / "partitions.json").write_text(json.dumps({"partitions": [{"topic": "typed", "partitions": [0]}]}))
    planned = run(
        cluster,
        tmp_path,
        RECOVER,
        unclean_recovery_partitions_file="partitions.json",
        unclean_recovery_strategy="aggressive",
        unclean_recovery_manual_output_file="plan.json",
    )
    assert f"{tmp_path}/plan.json" in planned.words, planned.output
    assert (tmp_path / "plan.json").is_file()

    done = run(
        cluster,
        tmp_path,
        RECOVER,
        unclean_recovery_plan_file="plan.json",
        unclean_recovery_automated_recovery="yes",
        unclean_recovery_report_file="report.json",
        unclean_recovery_report_html="report.html",
    )
    assert done.returncode == 0, done.output
    assert f"HTML report: {tmp_path}/report.html" in done.words
    assert json.loads((tmp_path / "report.json").read_text("utf-8"))["partitions"][0]["status"] == "recovered"
    assert "</html>" in (tmp_path / "report.html").read_text("utf-8")
    assert cluster.client.describe("typed", broker=offline.best)[0].leader == offline.best

    online = run(cluster, tmp_path, RECOVER, unclean_recovery_partitions="typed", unclean_recovery_report_html="p.html")
    assert f"HTML report: {tmp_path}/p.html" in online.words, online.output
    assert "</html>" in (tmp_path / "p.html").read_text("utf-8")


@pytest.mark.wide
def test_a_drain_moves_leaders_by_default_and_by_every_spelling(cluster: Cluster, tmp_path: Path) -> None:
    cluster.client.create_topic("moved", {0: (1, 2, 3), 1: (1, 3, 2)})
    playbook = "kafkaops.recovery.drain_leadership"
    drained = run(cluster, tmp_path, playbook, leadership_drain_brokers="[1]", leadership_drain_topics="moved")
    assert drained.returncode == 0, drained.output
    assert leaders(cluster, "moved") == {0: 2, 1: 3}
    restored = run(
        cluster,
        tmp_path,
        "kafkaops.recovery.restore_leadership",
        leadership_drain_topics='["moved"]',
        leadership_drain_elect_preferred="on",
    )
    assert restored.returncode == 0, restored.output
    assert orders(cluster, "moved") == {0: (1, 2, 3), 1: (1, 3, 2)}
    assert leaders(cluster, "moved") == {0: 1, 1: 1}
