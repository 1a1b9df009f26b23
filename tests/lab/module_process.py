# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A module in its own process without Ansible: for signals, and for tests that need no playbook."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lab.playbook import PROJECT

_MODULES = "ansible_collections.kafkaops.recovery.plugins.modules"
_TIMEOUT_S = 240.0


_USER_VARIABLES = ("LOGNAME", "USER", "LNAME", "USERNAME")


@dataclass(frozen=True)
class Account:
    """The user of a module: an id without a name, in a user namespace, and its own home directory."""

    user_id: int
    home: Path

    @property
    def command(self) -> list[str]:
        """Return the words to put before a command."""
        return ["unshare", "--user", f"--map-user={self.user_id}", f"--map-group={self.user_id}"]

    @property
    def environment(self) -> dict[str, str]:
        """Return the variables of this process without its user's name, and with the home directory."""
        given = {name: value for name, value in os.environ.items() if name not in _USER_VARIABLES}
        return {**given, "HOME": str(self.home), "XDG_STATE_HOME": str(self.home / "state")}


_RANKS = ("leader_candidate_info", "replica_log_info", "unclean_recovery")


def small_disk_prefix(directory: Path, size: str) -> list[str]:
    """Return the words to put before a command that sees a directory as an empty disk of this size, for it alone.

    In the end, what is left on it is printed to stderr.
    """
    mounted = f"mount -t tmpfs -o size={size} none {directory}"
    return [
        "unshare",
        "--user",
        "--map-root-user",
        "--mount",
        "sh",
        "-c",
        f'{mounted} && "$@"; ls -A {directory} >&2',
        "-",
    ]


def start_module(
    name: str,
    options: Mapping[str, object],
    *,
    check_mode: bool = False,
    account: Account | None = None,
    python_path: Path | None = None,
    prefix: Sequence[str] = (),
) -> subprocess.Popen[str]:
    """Start a module as Ansible does in the end: options on stdin, results on stdout. An option None is left out.

    Without a word about Spark, replicas are ranked without it, as in ``Recovery.variables``.

    ``python_path`` comes before the collection, and ``prefix`` before the command.
    """
    arguments = {option: value for option, value in options.items() if value is not None}
    if name in _RANKS and not arguments.keys() & {"engine", "spark"}:
        arguments["engine"] = "process"
    arguments |= {"_ansible_check_mode": check_mode, "_ansible_diff": True}
    paths = [*([python_path] if python_path else ()), PROJECT / ".venv" / "collections"]
    process = subprocess.Popen(
        [*prefix, *(account.command if account else ()), sys.executable, "-m", f"{_MODULES}.{name}"],
        env={**(account.environment if account else os.environ), "PYTHONPATH": os.pathsep.join(map(str, paths))},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None
    process.stdin.write(json.dumps({"ANSIBLE_MODULE_ARGS": arguments}))
    process.stdin.close()
    process.stdin = None
    return process


def results(process: subprocess.Popen[str]) -> dict[str, Any]:
    """Wait for the end of a started module, and return its results. Raises RuntimeError if it returned none."""
    output, errors = process.communicate(timeout=_TIMEOUT_S)
    try:
        reported: dict[str, Any] = json.loads(output)
    except ValueError:
        raise RuntimeError(f"the module gave no results: {output}{errors}") from None
    return reported


def run_module(name: str, options: Mapping[str, object], *, check_mode: bool = False) -> dict[str, Any]:
    """Run a module to its end, and return its results."""
    return results(start_module(name, options, check_mode=check_mode))
