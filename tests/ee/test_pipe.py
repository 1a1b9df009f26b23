# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The pipe of AWX's container groups: ``ansible-runner transmit | worker (in the image) | process``."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from extensions.awx_parts import extra_vars, variables_of_a_job
from lab import Cluster, scenarios
from lab.playbook import PROJECT
from publish.image import IMAGE, buildah, isolated

pytestmark = pytest.mark.timeout(900)

_RUNNER = str(Path(sys.executable).with_name("ansible-runner"))
_CDS_LOG = "/tmp/cds-%p.log"


@contextmanager
def container() -> Iterator[str]:
    """Make a container of the image, and remove it with everything that a job wrote there."""
    made = subprocess.run(buildah("from", IMAGE), check=True, stdout=subprocess.PIPE, text=True).stdout.strip()
    try:
        yield made
    finally:
        subprocess.run(buildah("rm", made), check=True, stdout=subprocess.DEVNULL)


def in_container(name: str, *command: str) -> list[str]:
    """Return the command line that runs a command in a container as AWX's container groups do, by the entry point."""
    return isolated(
        buildah("run", "--isolation", "chroot", name, "--", "/opt/builder/bin/entrypoint", "dumb-init", *command)
    )


def run_job(
    name: str, job: str, artifacts: Mapping[str, object], answers: Mapping[str, object], private: Path
) -> dict[str, Any]:
    """Run a job of AWX's workflow by the pipe; return its artifacts as AWX collects them."""
    playbook, variables = variables_of_a_job(job, artifacts, answers)
    (private / "env").mkdir(parents=True)
    # All that a job has of the project: the collection's roles and modules are those of the image.
    shutil.copytree(PROJECT / "playbooks", private / "project" / "playbooks")
    (private / "env" / "extravars").write_text(extra_vars(variables), encoding="utf-8")
    (private / "env" / "envvars").write_text(json.dumps({"JDK_JAVA_OPTIONS": f"-Xlog:cds:file={_CDS_LOG}"}))
    with (
        subprocess.Popen([_RUNNER, "transmit", private, "-p", playbook], stdout=subprocess.PIPE) as transmit,
        subprocess.Popen(
            in_container(name, "ansible-runner", "worker", "--private-data-dir", "/runner"),
            stdin=transmit.stdout,
            stdout=subprocess.PIPE,
        ) as worker,
    ):
        ran = subprocess.run(
            [_RUNNER, "process", private], stdin=worker.stdout, capture_output=True, text=True, check=False
        )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    events = [json.loads(path.read_text(encoding="utf-8")) for path in private.glob("artifacts/**/job_events/*.json")]
    (stats,) = [each["event_data"] for each in events if each["event"] == "playbook_on_stats"]
    assert stats["failures"] == {}, ran.stdout
    published: dict[str, Any] = stats["artifact_data"]
    return published


def test_a_plan_of_one_container_is_applied_in_another(tmp_path: Path) -> None:
    with Cluster(proxied=True) as cluster:
        offline = scenarios.diverged(cluster, "lost")
        answers = {"kafka_bootstrap_servers": cluster.bootstrap(), "unclean_recovery_strategy": "aggressive"}
        with container() as first:
            # Chosen, since so few replicas are asked without it.
            on_spark = answers | {"unclean_recovery_spark": {"master": "local[2]"}}
            planned = run_job(first, "plan a recovery", {}, on_spark, tmp_path / "plan")
            log = subprocess.run(
                in_container(first, "bash", "-c", "cat /tmp/cds-*.log"), check=True, stdout=subprocess.PIPE, text=True
            ).stdout
        # Spark started warm, from the archive in the image.
        assert "Opened archive /opt/kafka-recovery/cache/kafkaops.recovery/spark-" in log, log
        assert cluster.client.describe("lost", broker=offline.best)[0].leader is None
        assert cluster.proxy.write_requests() == []

        # Nothing of the first job is left but its artifact.
        shutil.rmtree(tmp_path / "plan")
        assert {"unclean_recovery_plan", "unclean_recovery_plan_digest"} <= planned.keys()
        with container() as second:
            applied = run_job(second, "apply the approved plan", planned, answers, tmp_path / "apply")
        assert applied["unclean_recovery_summary"]["partitions"]["recovered"] == 1
        assert cluster.client.describe("lost", broker=offline.best)[0].leader == offline.best
        # The state of the run was in the cluster, and is settled.
        written = [request.name for request in cluster.proxy.write_requests()]
        assert written[0] == "CreateTopics"
        assert "ElectLeaders" in written
        assert written[-1] == "DeleteTopics"
