# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A module on Ansible's own host runs from its installed files, and is packed everywhere else."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from ansible_collections.kafkaops.recovery.plugins.plugin_utils.progress_action import installed_module, module_program

_ROOT = Path(__file__).resolve().parents[3]
_PLAYBOOK = "kafkaops.recovery.renew_plan_digest"
_MODULE = "recovery_plan"
_RECORDER = """\
import atexit, sys

def record():
    module = sys.modules.get("ansible_collections.kafkaops.recovery.plugins.module_utils._module.run")
    if module is not None and "/ansible-playbook" not in sys.argv[0]:
        open({file!r}, "a").write(module.__file__ + "\\n")

atexit.register(record)
"""


def _files_of_module(directory: Path, *arguments: str, **environment: str) -> list[str]:
    """Run a playbook, and return where its module found the code of this collection."""
    record = directory / "record"
    (directory / "sitecustomize.py").write_text(_RECORDER.format(file=str(record)))
    ansible = Path(sys.executable).with_name("ansible-playbook")
    done = subprocess.run(
        [ansible, _PLAYBOOK, "-e", "unclean_recovery_plan_file=/nowhere/plan.json", *arguments],
        cwd=_ROOT,
        env={**os.environ, "PYTHONPATH": str(directory), "HOME": str(directory), **environment},
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        check=False,
    )
    assert "/nowhere/plan.json" in done.stdout + done.stderr
    return record.read_text().splitlines()


def test_on_this_host_the_installed_files_are_used(tmp_path: Path) -> None:
    assert [*map(Path.is_file, map(Path, _files_of_module(tmp_path)))] == [True]


def _same_python_by_another_name() -> str:
    python = Path(sys.executable)
    return next(str(each) for each in python.parent.glob("python3*") if each != python)


@pytest.mark.parametrize(
    ("arguments", "environment"),
    [
        ((), {"ANSIBLE_KEEP_REMOTE_FILES": "1"}),
        (("-e", f"ansible_python_interpreter={_same_python_by_another_name()}"), {}),
    ],
    ids=["for debugging", "for another Python"],
)
def test_otherwise_it_is_packed(tmp_path: Path, arguments: tuple[str, ...], environment: dict[str, str]) -> None:
    (found,) = _files_of_module(tmp_path, *arguments, **environment)
    assert not Path(found).exists(), "Ansible removes what it packed"


def test_neither_the_working_directory_nor_another_package_hides_a_library(tmp_path: Path) -> None:
    (tmp_path / "kafka.py").write_text("raise AssertionError('imported from the working directory')")
    other = tmp_path / "site" / "ansible_collections"
    other.mkdir(parents=True)
    (other / "__init__.py").write_text("")
    text = module_program(_MODULE, {"path": "/nowhere/plan.json"}, json.JSONEncoder)
    done = subprocess.run(
        [sys.executable],
        input=text,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(other.parent)},
        capture_output=True,
        check=False,
    )
    assert "/nowhere/plan.json" in json.loads(done.stdout)["msg"], done.stderr


def test_each_module_has_an_action_so_that_all_run_in_the_same_way() -> None:
    routed = yaml.safe_load((_ROOT / "meta" / "runtime.yml").read_text("utf-8"))["plugin_routing"]["modules"]
    of_module = {each: str(routed[each]["action_plugin"]).removeprefix("kafkaops.recovery.") for each in routed}
    of_module |= {each.stem: each.stem for each in (_ROOT / "plugins" / "action").glob("*.py")}
    modules = {each.stem: each.read_text("utf-8") for each in installed_module(_MODULE).parent.glob("*.py")}
    assert of_module.keys() == modules.keys()
    prints_progress = {each for each, action in of_module.items() if action == "unclean_recovery"}
    assert prints_progress == {each for each, text in modules.items() if "kafkaops.recovery.progress" in text}
    assert {of_module[each] for each in routed} == {"unclean_recovery", "quorum_info"}
