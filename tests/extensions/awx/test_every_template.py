# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Every job template runs with what an execution environment has, and with the answers that its survey offers.

The content of the execution environment is installed as ansible-builder installs it: ansible-core, the built artifact,
and the requirements that the artifact's metadata names. No container is used here (tests/ee has one).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from extensions.awx_parts import data
from lab import Cluster, scenarios
from lab.every_playbook import published
from lab.playbook import PROJECT
from publish import surveys
from publish.installation import Installation, installed, interpreter

pytestmark = pytest.mark.timeout(2400)

_TEMPLATES = {
    each["name"].removeprefix("Kafka: "): each
    for each in data().values()
    if isinstance(each, dict) and "playbook" in each
}


@pytest.fixture(scope="module")
def installation() -> Iterator[Installation]:
    with installed(interpreter("3.11")) as made:
        yield made


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with Cluster() as started:
        yield started


class Jobs:
    """Runs job templates with the answers of their surveys."""

    def __init__(self, installation: Installation, connection: dict[str, object]) -> None:
        self.ran: set[str] = set()
        self._installation = installation
        self._connection = connection

    def run(self, name: str, *, exit_status: int = 0, **answers: object) -> str:
        """Run a job. A question without an answer keeps its default, and AWX sends no integer without one."""
        template = _TEMPLATES[name]
        survey = template.get("survey_spec", "").partition("kafka_recovery_surveys.")[2].strip(" }")
        questions = _surveys()[survey]["spec"] if survey else []
        answered = {
            each["variable"]: answers.pop(each["variable"], self._connection.get(each["variable"], each["default"]))
            for each in questions
            if each["type"] != "integer" or each["default"] != "" or each["variable"] in answers
        }
        assert all(answered[each["variable"]] for each in questions if each["required"]), "AWX would not start it"
        variables = {**self._connection, **template.get("extra_vars", {}), **answers, **answered}
        arguments = ["--check"] if template.get("job_type") == "check" else []
        # The inventory is empty, except where a person chooses a host.
        if "all" in template.get("extra_vars", {}).values():
            arguments += ["-i", "localhost,", "-c", "local"]
        ran = self._installation.run(str(PROJECT / template["playbook"]), variables, *arguments)
        assert ran.returncode == exit_status, (name, ran.output)
        assert "Traceback" not in ran.output
        self.ran.add(name)
        return ran.output


def _surveys() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(surveys.FILE.read_text(encoding="utf-8"))["kafka_recovery_surveys"]
    return found


def test_every_job_template(cluster: Cluster, installation: Installation, tmp_path: Path) -> None:
    offline = scenarios.diverged(cluster, "orders")
    dead, best = offline.replicas[0], offline.best
    properties = tmp_path / "client.properties"
    properties.write_text(f"bootstrap.servers={cluster.bootstrap()}\n", encoding="utf-8")
    # What the credential sends if only client.properties is filled in.
    empty = ("ssl_cafile", "ssl_certfile", "ssl_keyfile", "ssl_key_password", "controllers_command_config")
    controllers = ",".join(f"{each.host}:{each.port}" for each in cluster.controllers.values())
    connection: dict[str, object] = {
        **{f"kafka_{each}": "" for each in empty},
        # AWX sends it to every job. Only with it, an answer may be empty.
        "awx_job_id": 1,
        "kafka_command_config": str(properties),
        "kafka_bootstrap_controllers": controllers,
    }
    jobs = Jobs(installation, connection)
    recordings, saved = str(tmp_path / "recordings"), str(tmp_path / "saved")

    # One controller is a warning.
    jobs.run("check the quorum", quorum_preflight_fail_on="critical")
    jobs.run("record the cluster", cluster_recorder_dir=recordings)
    jobs.run("report the exposure", exposure_report_recordings=recordings)
    # The strategy is balanced, and the last leader may still return: a person is needed.
    jobs.run("look at offline partitions", exit_status=2)
    jobs.run("elect what loses nothing", exit_status=2)
    assert cluster.client.describe("orders", broker=best)[0].leader is None
    plan = published(jobs.run("plan a recovery", unclean_recovery_strategy="aggressive"))
    jobs.run("apply the approved plan", **plan)
    assert cluster.client.describe("orders", broker=best)[0].leader == best
    jobs.run("report on the approved plan", **plan)

    disks = ",".join(str(each) for each in cluster.brokers[dead].data_dirs)
    jobs.run("salvage the logs of a stopped broker", log_salvage_log_dirs=disks, log_salvage_dir=saved)
    jobs.run("give saved records back", salvage_replay_dir=saved)
    assert len(cluster.client.consume_all("orders.salvaged", 0)) == 1
    page = tmp_path / "incident.html"
    jobs.run("write an incident report", incident_report_dir=str(tmp_path), incident_report_html=str(page))
    assert "</html>" in page.read_text(encoding="utf-8")
    jobs.run("give groups their offsets back")
    # No fourth broker can take the replicas.
    jobs.run("restore the redundancy", redundancy_lost_brokers=str(dead), exit_status=2)

    cluster.brokers[dead].start()
    jobs.run("check the readiness")
    jobs.run("drain leadership", leadership_drain_brokers=str(best))
    assert cluster.client.describe("orders", broker=best)[0].replicas[-1] == best
    jobs.run("restore leadership")
    assert [*cluster.client.describe("orders", broker=best)[0].replicas] == [*offline.replicas]
    jobs.run("look at the log cleaners")
    # Without metrics and without a compacted partition that has records, nothing is known of the cleaners.
    jobs.run("recover the log cleaners", exit_status=2)
    jobs.run("may these brokers stop?", stop_gate_brokers=",".join(map(str, cluster.brokers)), exit_status=2)
    assert jobs.ran == _TEMPLATES.keys()
