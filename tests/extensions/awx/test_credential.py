# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""AWX's own injector makes the credential's files, and the workflow's jobs recover with them over SASL_SSL."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml

from extensions.awx_parts import AWX, injector_path
from lab import Cluster, scenarios
from lab.playbook import PROJECT

pytestmark = pytest.mark.timeout(2400)

PASSWORD = "canary-password-of-alice"
_LOGIN = "org.apache.kafka.common.security.scram.ScramLoginModule"
_PROPERTIES = f"""\
bootstrap.servers={{servers}}
security.protocol=SASL_SSL
sasl.mechanism=SCRAM-SHA-512
sasl.jaas.config={_LOGIN} required username="alice" password="{PASSWORD}";
"""


class _Loader(yaml.SafeLoader):
    """Reads `!unsafe`, with which Ansible does not template a text, as that text."""


_Loader.add_constructor("!unsafe", lambda loader, node: loader.construct_scalar(node))


def credential_type() -> dict[str, Any]:
    """Return the credential type as AWX stores it."""
    data = yaml.load((AWX / "vars" / "controller.yml").read_text(encoding="utf-8"), Loader=_Loader)
    (stored,) = data["controller_credential_types"]
    return dict(stored)


def injected(
    inputs: dict[str, str], private: Path, monkeypatch: pytest.MonkeyPatch
) -> tuple[list[str], dict[str, str]]:
    """Let AWX's injector write files below ``private``; return Ansible's arguments and what AWX shows of env."""
    monkeypatch.syspath_prepend(str(injector_path()))
    from awx_plugins.interfaces import _temporary_private_container_api as container  # noqa: PLC0415
    from awx_plugins.interfaces import _temporary_private_credential_api as credentials  # noqa: PLC0415
    from awx_plugins.interfaces import _temporary_private_inject_api as injector  # noqa: PLC0415

    # The files are used here, not in a container.
    monkeypatch.setattr(container, "CONTAINER_ROOT", str(private))
    (private / "env").mkdir(parents=True)
    kind = credential_type()
    stored = SimpleNamespace(inputs=kind["inputs"], injectors=kind["injectors"], managed=False, custom_injectors=None)
    arguments: list[str] = []
    shown: dict[str, str] = {}
    injector.inject_credential(stored, credentials.Credential(inputs), {}, shown, arguments, str(private))
    return arguments, shown


def test_the_approved_plan_is_applied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Cluster(listeners=("SASL_SSL",), users={"alice": PASSWORD}) as cluster:
        offline = scenarios.diverged(cluster, "lost")
        private = tmp_path / "private"
        inputs = {
            "client_properties": _PROPERTIES.format(servers=cluster.bootstrap("SASL_SSL")),
            "ca": cluster.certificates.ca.read_text(encoding="utf-8"),
        }
        arguments, shown = injected(inputs, private, monkeypatch)
        assert arguments[0] == "-e"
        variables = yaml.safe_load(Path(arguments[1].removeprefix("@")).read_text(encoding="utf-8"))
        # What is empty counts as not given.
        assert {name for name, value in variables.items() if value} == {"kafka_command_config", "kafka_ssl_cafile"}
        assert PASSWORD not in str(shown) + str(variables)

        plan = run("plan", arguments, tmp_path, {"unclean_recovery_strategy": "aggressive"})
        assert cluster.client.describe("lost", broker=offline.best)[0].leader is None
        artifacts = {"kafka_recovery_plan": plan["kafka_recovery_plan"]}
        applied = run("apply", arguments, tmp_path, artifacts)
        assert applied["kafka_recovery_summary"] == "1 of 1 partitions recovered"
        assert cluster.client.describe("lost", broker=offline.best)[0].leader == offline.best
        # The same plan again changes nothing, and says so.
        again = run("apply", arguments, tmp_path, artifacts)
        assert [each["status"] for each in again["kafka_recovery_report"]["partitions"]] == ["already_online"]
    secret = [path for path in tmp_path.rglob("*") if path.is_file() and PASSWORD.encode() in path.read_bytes()]
    assert [path.parent for path in secret] == [private / "env"], "only the file that AWX made has the password"


def run(name: str, arguments: list[str], directory: Path, variables: dict[str, Any]) -> dict[str, Any]:
    """Run one of the workflow's playbooks in an empty home, and return its artifacts as AWX collects them."""
    ran = subprocess.run(
        [
            Path(sys.executable).with_name("ansible-playbook"),
            AWX / "playbooks" / f"{name}.yml",
            *arguments,
            "-e",
            json.dumps(variables),
            "-vvv",
        ],
        cwd=PROJECT,
        env={
            **os.environ,
            "ANSIBLE_NOCOLOR": "1",
            "ANSIBLE_SHOW_CUSTOM_STATS": "true",
            "HOME": str(directory / "home"),
            # Only Spark's class archive is found there, which an execution environment has in its image.
            "XDG_CACHE_HOME": os.environ.get("XDG_CACHE_HOME", str(Path.home() / ".cache")),
            "TMPDIR": str(directory),
        },
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    output = ran.stdout + ran.stderr
    assert PASSWORD not in output
    assert ran.returncode == 0, output
    stats: dict[str, Any] = json.loads(output.rpartition("RUN: ")[2].splitlines()[0])
    return stats
