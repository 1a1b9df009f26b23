# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The base classes of actions that run a module.

Ansible packs a module with all files that it imports, and Python compiles all of them in each run. So on this host a
module runs from the files that are installed: they are the same, and Python keeps what it has compiled.
"""

from __future__ import annotations

import json
import os
import shlex
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ansible import constants
from ansible.plugins.action import ActionBase

from ansible_collections.kafkaops.recovery.plugins.module_utils._model.program import program

from .failing import printed_once
from .interrupted import describe, describe_end, outlasted
from .progress import ProgressPace, followed, writer_of
from .rendering import is_terminal, show
from .variable_names import name_variables, variables_of

try:
    from ansible.executor.module_common import _BuiltModule
    from ansible.module_utils.common.json import Direction, get_module_encoder
except ImportError:  # ansible-core 2.18 packs each module
    _BuiltModule = None

_COLLECTION = "kafkaops.recovery"
_WITHOUT_VARIABLES = frozenset({"kafka_connection"})
_PROFILE = "legacy"
"""The format of arguments and results between Ansible and a module that is not packed."""
_IN_A_TERMINAL = ProgressPace(between_lines_s=2.0)
_IN_A_LOG = ProgressPace(between_lines_s=10.0)
_PROGRAM = """\
import io, runpy

sys.argv = [{module!r}]
sys.stdin = io.TextIOWrapper(io.BytesIO({arguments!r}))
runpy.run_module({module!r}, run_name="__main__", alter_sys=True)
"""


def installed_module(name: str) -> Path:
    """Return the file of a module of this collection."""
    return Path(__file__).parents[1] / "modules" / f"{name}.py"


def module_program(name: str, arguments: Mapping[str, Any], encoder: type[json.JSONEncoder]) -> bytes:
    """Return a program that runs the installed module, which reads its arguments from standard input."""
    body = _PROGRAM.format(
        module=f"ansible_collections.kafkaops.recovery.plugins.modules.{name}",
        arguments=json.dumps({"ANSIBLE_MODULE_ARGS": arguments}, cls=encoder).encode(),
    )
    return program(body).encode()


class ModuleAction(ActionBase):
    """Runs the module from its installed files if it runs on this host, as this user, with this Python."""

    _supports_check_mode = True
    _supports_async = True
    _supports_diff = True

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        result: dict[str, Any] = super().run(tmp, task_vars)
        result |= self.results(dict(self._task.args), task_vars)
        if end := describe_end(result):
            result["msg"] = end
        role = self._task._role
        if role is None or role._role_collection != _COLLECTION or role._role_name in _WITHOUT_VARIABLES:
            return printed_once(result, self._task, task_vars or {})
        return printed_once(name_variables(result, variables_of(role._role_name)), self._task, task_vars or {})

    def results(self, arguments: dict[str, Any], task_vars: dict[str, Any] | None) -> dict[str, Any]:
        """Run the module with these arguments, and return its results."""
        results: dict[str, Any] = self._execute_module(
            module_args=arguments, task_vars=task_vars, wrap_async=bool(self._task.async_val)
        )
        return results

    def _low_level_execute_command(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        """Run a command of this host in the directory in which ansible-playbook was started.

        Ansible runs it in the directory of the playbook, which is the installed collection: relative paths that a
        person typed would begin there.
        """
        if self._connection.transport == "local" and not kwargs.get("chdir"):
            kwargs["chdir"] = shlex.quote(str(Path.cwd()))
        results: dict[str, Any] = super()._low_level_execute_command(*args, **kwargs)
        return results

    @property
    def is_here(self) -> bool:
        """Return whether the module runs on this host as this user, and the task waits for it."""
        return not self._task.async_val and self._connection.transport == "local" and not self._play_context.become

    def _is_installed(self, module_name: str, task_vars: dict[str, Any]) -> bool:
        """Return whether the installed files are those that the module would be packed from, and its Python is ours."""
        return (
            _BuiltModule is not None
            and module_name == self._task.action
            and self.is_here
            and not self._task.delegate_to
            and not constants.DEFAULT_KEEP_REMOTE_FILES
            and self._templar.template(task_vars.get("ansible_python_interpreter")) == sys.executable
        )

    def _configure_module(self, module_name: str, module_args: dict[str, Any], task_vars: dict[str, Any]) -> Any:
        if not self._is_installed(module_name, task_vars):
            return super()._configure_module(module_name, module_args, task_vars)
        name = module_name.rpartition(".")[2]
        encoder = get_module_encoder(_PROFILE, Direction.CONTROLLER_TO_MODULE)
        built = _BuiltModule(
            b_module_data=module_program(name, module_args, encoder),
            module_style="new",
            shebang=f"#!{sys.executable}",
            serialization_profile=_PROFILE,
        )
        return built, str(installed_module(name))


class ProgressAction(ModuleAction):
    """Also prints the module's progress, and what it did if a signal stops it, if the module runs on this host."""

    def results(self, arguments: dict[str, Any], task_vars: dict[str, Any] | None) -> dict[str, Any]:
        if not self.is_here:
            return super().results(arguments, task_vars)
        pace = _IN_A_TERMINAL if is_terminal() else _IN_A_LOG
        with tempfile.TemporaryDirectory(prefix="kafkaops-progress-") as directory:
            path = Path(arguments.setdefault("progress_file", str(Path(directory) / "progress")))
            with outlasted(lambda: writer_of(path)) as interruption, followed(path, show, pace):
                results = super().results(arguments, task_vars)
        if interruption.number is not None:
            variable = "" if self._task._role is None else f"{self._task._role._role_name}_report_file"
            named = variable if (task_vars or {}).get(variable) else ""
            interruption.print(describe(interruption.number, results, arguments, named))
            # As a worker of ansible-core ends after a signal. ansible-playbook waits for it, or is gone.
            os._exit(1)
        return results
