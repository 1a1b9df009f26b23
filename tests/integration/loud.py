# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Playbooks as loud as Ansible can be, with home and all that is temporary in one directory: it is searched then."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from pathlib import Path

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._spark.java import trusted_cache
from lab.playbook import RECOVER, PlaybookRun, run_playbook

LOUD = ("-vvv", "--diff")
_LOOKS: Mapping[str, dict[str, object]] = {
    RECOVER: {"unclean_recovery_all_offline_partitions": True, "unclean_recovery_show_replica_info": True},
    "kafkaops.recovery.check_readiness": {},
}
_RESULT = re.compile(r"^fatal: \[localhost\]: FAILED! => (\{.*?^\})$", re.MULTILINE | re.DOTALL)


def keep_below(directory: Path, patch: pytest.MonkeyPatch) -> None:
    """Give Ansible, its modules and Spark a home below this directory, a place for what is temporary, and a log.

    Ansible's own temporary files are in the home.
    """
    classes = trusted_cache()
    temporary, home = directory / "tmp", directory / "home"
    for each in (directory, temporary, home, home / ".cache"):
        each.mkdir()
    # To record Spark's classes again would take longer than all else.
    (home / ".cache" / classes.name).symlink_to(classes)
    for name in ("TMPDIR", "SPARK_LOCAL_DIRS"):
        patch.setenv(name, str(temporary))
    patch.setenv("JAVA_TOOL_OPTIONS", f"-Djava.io.tmpdir={temporary}")
    for name in ("XDG_STATE_HOME", "XDG_CACHE_HOME"):
        patch.delenv(name, raising=False)
    patch.setenv("HOME", str(home))
    # The default is in the home by the user database, which HOME does not change.
    patch.setenv("ANSIBLE_REMOTE_TEMP", str(home / ".ansible" / "tmp"))
    patch.setenv("ANSIBLE_LOG_PATH", str(directory / "ansible.log"))


def holds_none(run: PlaybookRun, directory: Path, secrets: Collection[bytes]) -> None:
    """Search the output, and every file below the directory."""
    assert "Traceback" not in run.output
    for secret in secrets:
        assert secret not in run.output.encode()
    left_none(directory, secrets)


def left_none(directory: Path, secrets: Collection[bytes]) -> None:
    """Search every file below the directory."""
    files = {path: path.read_bytes() for path in directory.rglob("*") if path.is_file()}
    assert any(path.name == "ansible.log" for path in files)
    for secret in secrets:
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
        lines += [json.loads(each)["msg"].partition("\n")[0] for each in _RESULT.findall(run.output)[:1]]
    assert len(lines) == len(_LOOKS)
    return lines
