# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""AWX's configuration as data, and the parts of AWX on PyPI: its credential injector, and the collection awx.awx."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml
from jinja2 import StrictUndefined
from jinja2.sandbox import ImmutableSandboxedEnvironment

from lab.playbook import PROJECT

AWX = PROJECT / "extensions" / "awx"
_CACHE = PROJECT / ".cache" / "awx"
_PINS = PROJECT / "requirements" / "constraints.txt"


class _Loader(yaml.SafeLoader):
    """Reads a text with the tag `!unsafe`, which Ansible must not template, as plain text."""


_Loader.add_constructor("!unsafe", lambda _loader, node: node.value)


class _Untrusted(yaml.SafeDumper):
    """Marks every text, keys of mappings too, so that Ansible does not template it."""

    def represent_data(self, data: Any) -> yaml.Node:
        return self.represent_scalar("!unsafe", data) if isinstance(data, str) else super().represent_data(data)


def data() -> dict[str, Any]:
    """Return the data for AWX, with unresolved references to other variables."""
    loaded: dict[str, Any] = yaml.load((AWX / "vars" / "controller.yml").read_text(encoding="utf-8"), Loader=_Loader)
    return loaded


def job_template(name: str) -> dict[str, Any]:
    """Return the job template of a name, with its own fields only."""
    (found,) = (each for each in data().values() if isinstance(each, dict) and each.get("name") == f"Kafka: {name}")
    return dict(found)


def variables_of_a_job(
    name: str, artifacts: Mapping[str, object], answers: Mapping[str, object]
) -> tuple[str, dict[str, object]]:
    """Return playbook and extra variables of a job in a workflow, in AWX's order: what comes later wins.

    The template's, then what all jobs before have set by set_stats, then the answers to the workflow's survey.
    """
    template = job_template(name)
    return template["playbook"], {**template.get("extra_vars", {}), **artifacts, **answers}


def extra_vars(variables: Mapping[str, object]) -> str:
    """Return extra variables as AWX writes them for a job, except the template's own variables, which it trusts."""
    return yaml.dump(dict(variables), Dumper=_Untrusted, default_flow_style=False)


def rendered(message: str, context: Mapping[str, object]) -> str:
    """Render the message of a notification as AWX does when it is stored: undefined variables are errors."""
    return ImmutableSandboxedEnvironment(undefined=StrictUndefined).from_string(message).render(context)


def downloaded_collections() -> Path:
    """Return a collections directory with awx.awx and ansible.posix, and only these, out of the package `ansible`."""
    target = _CACHE / "collections"
    wanted = ("ansible_collections/awx/awx/", "ansible_collections/ansible/posix/")
    if not all((target / each).is_dir() for each in wanted):
        with tempfile.TemporaryDirectory() as scratch:
            _pip("download", "--no-deps", "--dest", scratch, "ansible")
            (wheel,) = Path(scratch).glob("ansible-*.whl")
            with zipfile.ZipFile(wheel) as archive:
                archive.extractall(target, [each for each in archive.namelist() if each.startswith(wanted)])
    return target


def injector_path() -> Path:
    """Return a directory for sys.path with AWX's credential injector."""
    target = _CACHE / "injector"
    if not target.is_dir():
        _pip("install", "--no-deps", "--target", str(target), "awx-plugins-interfaces")
    return target


def _pip(command: str, *arguments: str) -> None:
    quiet = ("--quiet", "--disable-pip-version-check", "--constraint", str(_PINS))
    subprocess.run([sys.executable, "-m", "pip", command, *quiet, *arguments], check=True)
