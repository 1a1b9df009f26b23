# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A recovery is killed before each of its changes on the disk: the next run finishes it, or puts everything back."""

from __future__ import annotations

import os
import re
import resource
import shutil
import signal
import sys
from collections.abc import Callable
from itertools import count
from pathlib import Path

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._model.run import KafkaOpsError
from ansible_collections.kafkaops.recovery.plugins.module_utils._quorum_recovery.apply import apply
from ansible_collections.kafkaops.recovery.plugins.module_utils._quorum_recovery.module import apply_results
from ansible_collections.kafkaops.recovery.plugins.module_utils._quorum_recovery.restore import restore
from unit.quorum_recovery.disks import BEGIN_TRANSACTION, Disk, a_plan, topic_record

_CHANGES = {"os.chmod", "os.link", "os.mkdir", "os.remove", "os.rename", "os.rmdir", "os.truncate"}
_HARMLESS = (".lock", ".kafkaops-new")
"""The lock, which each node creates, and a file that was not given its final name yet."""
_FEWEST_BOUNDARIES = 10


def was_killed_at(number: int, directory: Path, action: Callable[[], object]) -> bool:
    """Run an action in a child process that is killed before its n-th change below a directory (PEP 578)."""
    left = number

    def is_below(path: object) -> bool:
        return isinstance(path, (str, os.PathLike)) and os.fspath(path).startswith(str(directory))

    def hook(event: str, arguments: tuple[object, ...]) -> None:
        nonlocal left
        is_opened = event == "open" and bool(int(str(arguments[2])) & (os.O_WRONLY | os.O_RDWR))
        if (is_opened or event in _CHANGES) and any(map(is_below, arguments)):
            left -= 1
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)

    child = os.fork()
    if child == 0:
        try:
            sys.addaudithook(hook)
            action()
            os._exit(0)
        finally:
            os._exit(1)
    _child, status = os.waitpid(child, 0)
    assert status in (0, signal.SIGKILL), status
    return status != 0


class Wreck:
    """A disk whose state can be kept and put back."""

    def __init__(self, place: Path, *, dynamic: bool) -> None:
        self.disk = Disk(place, dynamic=dynamic).add(topic_record("a"))
        self.disk.add_snapshot(self.disk.end_offset, topic_record("a"))
        self.disk.add(BEGIN_TRANSACTION)
        self.disk.segment.write_bytes(self.disk.segment.read_bytes() + b"torn")
        self.plan = a_plan(self.disk)
        self.backups = place / "backups"
        self.before = self.files()

    def apply(self) -> str:
        return apply(self.plan, self.disk.host, str(self.backups))

    def restore(self) -> str:
        return restore(self.plan, self.disk.host)

    def files(self) -> dict[str, bytes]:
        return {path: each for path, each in self.disk.files().items() if not path.endswith(_HARMLESS)}

    def put(self, files: dict[str, bytes]) -> None:
        shutil.rmtree(self.disk.log_dir)
        for path, content in files.items():
            Path(path).parent.mkdir(parents=True, exist_ok=True)
            Path(path).write_bytes(content)


@pytest.mark.parametrize("dynamic", [True, False])
def test_a_recovery(tmp_path: Path, *, dynamic: bool) -> None:
    wreck = Wreck(tmp_path, dynamic=dynamic)
    backup = wreck.apply()
    done = wreck.files()
    for number in count(1):
        wreck.put(wreck.before)
        shutil.rmtree(wreck.backups)
        was_killed = was_killed_at(number, tmp_path, wreck.apply)
        killed = wreck.files()
        assert wreck.apply() == backup, number
        assert wreck.files() == done, number
        saved = Path(backup, wreck.disk.metadata_dir.name, wreck.disk.segment.name)
        assert saved.read_bytes() == wreck.before[str(wreck.disk.segment)], number
        assert [each.name for each in wreck.backups.iterdir()] == [Path(backup).name], number
        wreck.put(killed)
        wreck.restore()
        assert wreck.files() == wreck.before, number
        if not was_killed:
            assert number > _FEWEST_BOUNDARIES
            return


def error_of(action: Callable[[], object], *, most_bytes: int) -> str:
    """Run an action in a child process that can write no file beyond a size (RLIMIT_FSIZE), and return its error."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            resource.setrlimit(resource.RLIMIT_FSIZE, (most_bytes, most_bytes))
            try:
                action()
            except KafkaOpsError as error:
                os.write(writer, str(error).encode())
            os._exit(0)
        finally:
            os._exit(1)
    os.close(writer)
    with open(reader, encoding="utf-8") as file:
        text = file.read()
    _child, status = os.waitpid(child, 0)
    assert status == 0, status
    return text


@pytest.mark.parametrize("dynamic", [True, False])
def test_a_write_that_the_disk_refuses(tmp_path: Path, *, dynamic: bool) -> None:
    wreck = Wreck(tmp_path, dynamic=dynamic)
    parameters = {"host": wreck.disk.host, "backup_dir": str(wreck.backups)}
    wreck.apply()
    done = wreck.files()
    for size in sorted({len(content) for content in done.values() if content}):
        wreck.put(wreck.before)
        shutil.rmtree(wreck.backups)
        error = error_of(lambda: apply_results(wreck.plan, parameters, check_mode=False), most_bytes=size - 1)
        assert re.search(f"{tmp_path}.*File too large", error), error
        assert not [*tmp_path.rglob("*.kafkaops-new"), *tmp_path.rglob("*.unfinished")], size
        apply_results(wreck.plan, parameters, check_mode=False)
        assert wreck.files() == done, size


@pytest.mark.parametrize("dynamic", [True, False])
def test_a_restoration(tmp_path: Path, *, dynamic: bool) -> None:
    wreck = Wreck(tmp_path, dynamic=dynamic)
    wreck.apply()
    done = wreck.files()
    for number in count(1):
        wreck.put(done)
        was_killed = was_killed_at(number, tmp_path, wreck.restore)
        wreck.restore()
        assert wreck.files() == wreck.before, number
        if not was_killed:
            assert number > 3
            return
