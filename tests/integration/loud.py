# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Playbooks as loud as Ansible can be, with all that is temporary in one directory: what they leave is searched."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from pathlib import Path

import pytest

from lab.playbook import RECOVER, PlaybookRun, run_playbook

LOUD = ("-vvv", "--diff")
_LOOKS: Mapping[str, dict[str, object]] = {
    RECOVER: {"unclean_recovery_all_offline_partitions": True, "unclean_recovery_show_replica_info": True},
    "kafkaops.recovery.check_readiness": {},
}
_MESSAGE = re.compile(r"^\[ERROR\]: Task failed: (?:Module|Action) failed: (.*)$", re.MULTILINE)


def keep_below(directory: Path, patch: pytest.MonkeyPatch) -> None:
    """Let Ansible, its modules and Spark put everything temporary below this directory, and a log."""
    directory.mkdir()
    for name in ("TMPDIR", "ANSIBLE_LOCAL_TEMP", "ANSIBLE_REMOTE_TEMP", "SPARK_LOCAL_DIRS"):
        patch.setenv(name, str(directory))
    patch.setenv("ANSIBLE_LOG_PATH", str(directory / "ansible.log"))


def holds_none(run: PlaybookRun, directory: Path, secrets: Collection[bytes]) -> None:
    """Search the output, and every file below the directory."""
    assert "Traceback" not in run.output
    files = {path: path.read_bytes() for path in directory.rglob("*") if path.is_file()}
    assert any(path.name == "ansible.log" for path in files)
    for secret in secrets:
        assert secret not in run.output.encode()
        assert [path for path, content in files.items() if secret in content] == []


def first_lines(variables: Mapping[str, object], directory: Path, *secrets: bytes) -> list[str]:
    """Return the first line of the error of each playbook, which cannot connect, and leaves no secret."""
    lines: list[str] = []
    for number, (playbook, own) in enumerate(_LOOKS.items()):
        kept = directory / f"kept-{number}"
        with pytest.MonkeyPatch.context() as patch:
            keep_below(kept, patch)
            run = run_playbook(playbook, {"kafka_request_timeout_ms": 5000, **variables, **own}, *LOUD)
        assert run.returncode != 0, run.output
        holds_none(run, kept, secrets)
        lines += _MESSAGE.findall(run.output)[:1]
    assert len(lines) == len(_LOOKS)
    return lines
