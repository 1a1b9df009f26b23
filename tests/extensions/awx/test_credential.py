# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""AWX's own injector writes the credential's files, and the workflow's jobs recover with them over SASL_SSL."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest
import yaml

from extensions.awx_parts import data, extra_vars, injector_path, rendered, variables_of_a_job
from lab import Cluster, scenarios, settings
from lab.playbook import PROJECT
from lab.tls import Certificates

pytestmark = pytest.mark.timeout(2400)

PASSWORD = "canary-password-of-alice"
SECRETS = (PASSWORD, Certificates.client_key_password)
_LOGIN = "org.apache.kafka.common.security.scram.ScramLoginModule"
_PROPERTIES = f"""\
bootstrap.servers={{servers}}
security.protocol=SASL_SSL
sasl.mechanism=SCRAM-SHA-512
sasl.jaas.config={_LOGIN} required username="alice" password="{PASSWORD}";
"""


def injected(
    inputs: dict[str, str], private: Path, monkeypatch: pytest.MonkeyPatch
) -> tuple[list[str], dict[str, str]]:
    """Let AWX's injector write files below ``private``; return Ansible's arguments and what AWX shows of env."""
    monkeypatch.syspath_prepend(str(injector_path()))
    from awx_plugins.interfaces import _temporary_private_container_api as container  # noqa: PLC0415
    from awx_plugins.interfaces import _temporary_private_credential_api as credentials  # noqa: PLC0415
    from awx_plugins.interfaces import _temporary_private_inject_api as injector  # noqa: PLC0415

    (private / "env").mkdir(parents=True)
    (kind,) = data()["controller_credential_types"]
    stored = SimpleNamespace(inputs=kind["inputs"], injectors=kind["injectors"], managed=False, custom_injectors=None)
    arguments: list[str] = []
    shown: dict[str, str] = {}
    injector.inject_credential(stored, credentials.Credential(inputs), {}, shown, arguments, str(private))
    # The files are used here, and not in a container in which they have other paths.
    env, mounted = private / "env", f"{container.CONTAINER_ROOT}/env/"
    for file in env.iterdir():
        file.write_text(file.read_text(encoding="utf-8").replace(mounted, f"{env}/"), encoding="utf-8")
    return [each.replace(mounted, f"{env}/") for each in arguments], shown


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return Certificates(tmp_path_factory.mktemp("tls") / "files")


@pytest.fixture(scope="module")
def cluster(certificates: Certificates) -> Iterator[Cluster]:
    """Start brokers with SASL_SSL, and a controller that requires a client certificate."""
    tls = settings.tls(certificates.server("valid"), certificates.ca, "none") | {"ssl.client.auth": "required"}
    protocols = "SASL_SSL:SASL_SSL,INTERNAL:PLAINTEXT,CONTROLLER:SSL"
    every_node = {**tls, "listener.security.protocol.map": protocols}
    with Cluster(
        listeners=("SASL_SSL",), users={"alice": PASSWORD}, properties=every_node, controller_properties=every_node
    ) as started:
        yield started


def controllers_properties(certificates: Certificates) -> str:
    """Return a client.properties with everything inline: a credential has no other files for the controllers."""
    pem = {
        "ssl.truststore.certificates": certificates.ca,
        "ssl.keystore.certificate.chain": certificates.client_certificate,
        "ssl.keystore.key": certificates.client_key,
    }
    stores = [f"{name}={_inline(path)}" for name, path in pem.items()]
    password = f"ssl.key.password={certificates.client_key_password}"
    types = ["ssl.truststore.type=PEM", "ssl.keystore.type=PEM"]
    return "\n".join(["security.protocol=SSL", *types, *stores, password])


def _inline(path: Path) -> str:
    """Return a PEM file as one value of a Java properties file."""
    return path.read_text(encoding="utf-8").strip().replace("\n", "\\n")


def test_the_workflow_recovers_as_approved(
    cluster: Cluster, certificates: Certificates, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    offline = scenarios.diverged(cluster, "lost")
    private = tmp_path / "private"
    inputs = {
        "client_properties": _PROPERTIES.format(servers=cluster.bootstrap("SASL_SSL")),
        "ca": certificates.ca.read_text(encoding="utf-8"),
        "controllers": ",".join(f"{each.host}:{each.port}" for each in cluster.controllers.values()),
        "controllers_properties": controllers_properties(certificates),
    }
    arguments, shown = injected(inputs, private, monkeypatch)
    assert arguments[0] == "-e"
    variables = yaml.safe_load(Path(arguments[1].removeprefix("@")).read_text(encoding="utf-8"))
    # An empty value counts as not given.
    assert {name for name, value in variables.items() if value} == {
        "kafka_command_config",
        "kafka_ssl_cafile",
        "kafka_bootstrap_controllers",
        "kafka_controllers_command_config",
    }
    assert not any(secret in str(shown) + str(variables) for secret in SECRETS)

    workflow = Workflow(arguments, tmp_path)
    looked = workflow.run("check the quorum", quorum_preflight_fail_on="critical")
    assert '"supports_pre_vote": true' in looked, "the controller was asked on its own listener"
    workflow.run("look at offline partitions")
    assert workflow.artifacts.keys() == {"unclean_recovery_summary"}
    workflow.run("plan a recovery")
    assert summary(workflow)["partitions"]["would_recover"] == 1
    assert workflow.artifacts["unclean_recovery_plan"]["digest"] == workflow.artifacts["unclean_recovery_plan_digest"]
    assert cluster.client.describe("lost", broker=offline.best)[0].leader is None
    workflow.run("apply the approved plan")
    assert cluster.client.describe("lost", broker=offline.best)[0].leader == offline.best
    assert (summary(workflow)["mode"], summary(workflow)["partitions"]["recovered"]) == ("apply", 1)
    # The plan is still there: it is compared with the cluster, and applied again it changes nothing.
    for job in ("report on the approved plan", "apply the approved plan"):
        workflow.run(job)
        assert summary(workflow)["partitions"]["already_online"] == 1

    for secret in SECRETS:
        holders = [path for path in tmp_path.rglob("*") if path.is_file() and secret.encode() in path.read_bytes()]
        assert [path.parent for path in holders] == [private / "env"], "only the file that AWX made has it"


def summary(workflow: Workflow) -> dict[str, Any]:
    """Return the summary of the last job, as its notification brings it to a webhook."""
    (notification,) = data()["controller_notifications"]
    context = {"job": {"name": "a", "status": "successful", "artifacts": workflow.artifacts}, "url": "https://awx"}
    sent = json.loads(rendered(notification["messages"]["success"]["body"], context))
    found: dict[str, Any] = sent["summary"]
    return found


class Workflow:
    """The jobs of the workflow, each with an empty home, and with the data that AWX passes between them."""

    answers: ClassVar[dict[str, object]] = {
        "unclean_recovery_strategy": "aggressive",
        "unclean_recovery_max_lost_records": 0,
        "unclean_recovery_include_internal_topics": "false",
        "unclean_recovery_acknowledge_unclean_leader_election": "false",
    }

    def __init__(self, arguments: Sequence[str], directory: Path) -> None:
        self.artifacts: dict[str, Any] = {}
        self._arguments = arguments
        self._directory = directory

    def run(self, name: str, **answers: object) -> str:
        """Run a job template, collect its artifacts, and return its output."""
        playbook, variables = variables_of_a_job(name, self.artifacts, self.answers | answers)
        file = self._directory / "extravars"
        file.write_text(extra_vars(variables), encoding="utf-8")
        ran = subprocess.run(
            [
                *(Path(sys.executable).with_name("ansible-playbook"), PROJECT / playbook),
                *(*self._arguments, "-e", f"@{file}", "-vvv"),
            ],
            cwd=PROJECT,
            env={
                **os.environ,
                "ANSIBLE_NOCOLOR": "1",
                "ANSIBLE_SHOW_CUSTOM_STATS": "true",
                "HOME": str(self._directory / "home"),
                # It contains only Spark's class archive, which an execution environment has in its image.
                "XDG_CACHE_HOME": os.environ.get("XDG_CACHE_HOME", str(Path.home() / ".cache")),
                "TMPDIR": str(self._directory),
            },
            capture_output=True,
            text=True,
            timeout=900,
            check=False,
        )
        output = ran.stdout + ran.stderr
        assert not any(secret in output for secret in SECRETS)
        assert ran.returncode == 0, output
        _before, published, stats = output.rpartition("RUN: ")
        if published:
            self.artifacts |= json.loads(stats.splitlines()[0])
        return output
