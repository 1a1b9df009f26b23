# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Run the collection's playbooks as a person does: with ansible-playbook, from the project's root."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

PROJECT = Path(__file__).resolve().parents[2]
RECOVER = "kafkaops.recovery.recover_offline_partitions"
SALVAGE = "kafkaops.recovery.salvage_logs"
REPLAY = "kafkaops.recovery.replay_salvaged_records"
INCIDENT = "kafkaops.recovery.incident_report"
_RECAP = re.compile(r"^localhost\s+:\s+(.*)$", re.MULTILINE)


@dataclass(frozen=True)
class PlaybookRun:
    """The result of a playbook."""

    returncode: int
    output: str
    """stdout and stderr, as the terminal would have shown them."""

    @property
    def words(self) -> str:
        """Return the output in one line, without line breaks."""
        return " ".join(self.output.split())

    @property
    def counts(self) -> dict[str, int]:
        """The recap: ok, changed, failed and so on; empty when the play never began."""
        recap = _RECAP.search(self.output)
        return {key: int(value) for key, value in (pair.split("=") for pair in recap[1].split())} if recap else {}


def command(playbook: str, variables: Mapping[str, object], *arguments: str) -> list[str]:
    """Return the command line of a run."""
    ansible = str(Path(sys.executable).with_name("ansible-playbook"))
    return [ansible, playbook, "-e", json.dumps(variables), *arguments]


def run_playbook(
    playbook: str, variables: Mapping[str, object], *arguments: str, timeout: float = 240.0
) -> PlaybookRun:
    """Run a playbook to its end; it and all it started are killed when it takes longer than ``timeout`` seconds."""
    with start_playbook(playbook, variables, *arguments) as process:
        try:
            output, _nothing = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            signal_tree(process.pid, signal.SIGKILL)
            raise
    return PlaybookRun(process.returncode, output)


def start_playbook(playbook: str, variables: Mapping[str, object], *arguments: str) -> subprocess.Popen[str]:
    """Start a playbook, for tests that do something to it while it runs (see ``signal_tree``)."""
    return subprocess.Popen(
        # Under nohup, SIGHUP would be ignored by all that the tests start.
        ["env", "--default-signal=HUP", *command(playbook, variables, *arguments)],
        cwd=PROJECT,
        env={**os.environ, "ANSIBLE_FORCE_COLOR": "0", "ANSIBLE_NOCOLOR": "1"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        # As a shell does: a terminal signals the whole group.
        process_group=0,
    )


def signal_tree(pid: int, number: signal.Signals, *, only: str = "") -> None:
    """Signal a process and all its descendants, or those whose command line holds ``only``.

    Ansible puts its workers and modules into sessions of their own, where no process group reaches them.
    """
    # Ancestors first: if Ansible saw a dead worker, it would end by itself, with another message.
    for member, command in {pid: _command_of(pid), **descendants(pid)}.items():
        with suppress(ProcessLookupError):
            if only in command:
                os.kill(member, number)


class Part(StrEnum):
    """A process of a playbook that runs."""

    PLAYBOOK = "ansible-playbook"
    WORKER = "its worker"
    MODULE = "the module"


def part_of_playbook(pid: int, part: Part) -> int:
    """Return the process id of one part of a playbook that runs a module."""
    below = descendants(pid)
    if part is Part.PLAYBOOK:
        return pid
    if part is Part.WORKER:
        # A fork of ansible-playbook keeps its command line.
        return next(each for each, command in below.items() if command == _command_of(pid))
    return [each for each, command in below.items() if _is_module(command)][-1]


def _is_module(command: str) -> bool:
    """Return whether this is a module: one that is a file, or one that Python reads from its standard input."""
    python, *arguments = command.rstrip("\0").split("\0")
    return "AnsiballZ" in command if arguments else Path(python).name.startswith("python")


def _command_of(pid: int) -> str:
    with suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace")
    return ""


def descendants(pid: int) -> dict[int, str]:
    """Return the command lines of all descendants of a process, parents before their children."""
    children: dict[int, list[int]] = {}
    for status in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            # The command's name, in brackets, may hold spaces; the parent's id is the second field after it.
            parent = int(status.read_text().rpartition(")")[2].split()[1])
            children.setdefault(parent, []).append(int(status.parent.name))
    found: list[int] = []
    waiting = [pid]
    while waiting:
        waiting += children.get(waiting[0], [])
        found += children.get(waiting.pop(0), [])
    return {each: _command_of(each) for each in found}


def read_report(path: Path) -> dict[str, Any]:
    """Read a report file with the standard JSON parser."""
    report: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return report


def statuses(report: Mapping[str, Any]) -> Sequence[tuple[str, int, str]]:
    """(topic, partition, status) of every partition in a report."""
    return [(each["topic"], each["partition"], each["status"]) for each in report["partitions"]]


def typed(directory: Path, *words: str, timeout: float = 240.0) -> PlaybookRun:
    """Run a command of Ansible as a person who has installed the collection and stands in another directory."""
    return run_as_a_person([str(Path(sys.executable).with_name(words[0])), *words[1:]], directory, timeout)


def run_as_a_person(command: Sequence[str], directory: Path, timeout: float, **environment: str) -> PlaybookRun:
    """Run a command in a directory, with the installed collection and no input."""
    ran = subprocess.run(
        command,
        cwd=directory,
        env={
            **os.environ,
            "ANSIBLE_COLLECTIONS_PATH": str(Path(sys.executable).parents[1] / "collections"),
            "ANSIBLE_NOCOLOR": "1",
            **environment,
        },
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=timeout,
        check=False,
    )
    return PlaybookRun(ran.returncode, ran.stdout)
