# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The journal file: durable before a change, complete after a crash, and refused if it is damaged."""

from __future__ import annotations

import errno
import os
import signal
import stat
import subprocess
import sys
import zlib
from collections.abc import Iterable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ansible_collections.kafkaops.recovery.plugins.module_utils._changes.file_log import (
    default_directory,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._changes.record import JournalError, OrderChange
from unit.disk import full_disk
from unit.fakes.journals import open_journal, read_pending

CLUSTER = "MkU3OEVBNTcwNTJENDM2Qg"
Key = tuple[str, int]


def a_change(topic: str, partition: int, *, changed: tuple[int, ...] = (2, 1, 3)) -> OrderChange:
    return OrderChange(topic, partition, "EjRWeJq83vASNFZ4mrze8A", (1, 2, 3), changed)


A0, A1, B0 = a_change("a", 0), a_change("a", 1), a_change("b", 0)


def journal_file(directory: Path) -> Path:
    return directory / f"{CLUSTER}.journal"


def written(directory: Path, *changes: OrderChange, ended: Iterable[OrderChange] = ()) -> bytes:
    """Return the content of a journal that began these changes, one by one, and ended some of them."""
    with open_journal(str(directory), CLUSTER) as journal:
        for each in changes:
            journal.begin([each])
        journal.end(ended, "restored")
    return journal_file(directory).read_bytes()


def test_changes_are_pending_until_ended_and_survive_reopening(tmp_path: Path) -> None:
    with open_journal(str(tmp_path), CLUSTER) as journal:
        assert not journal.pending
        journal.begin([B0, A1, A0])
        assert journal.pending == (A0, A1, B0)
        journal.end([A1], "restored")
    with open_journal(str(tmp_path), CLUSTER) as journal:
        assert journal.pending == (A0, B0)
    assert read_pending(str(tmp_path), CLUSTER) == (A0, B0)


keys = st.tuples(st.sampled_from(["a", "b"]), st.integers(0, 2))
orders = st.permutations((1, 2, 3)).map(tuple)
runs = st.lists(
    st.tuples(st.dictionaries(keys, orders, max_size=3), st.sets(keys, max_size=3), st.booleans()), max_size=8
)


@settings(max_examples=30)  # each example waits for the disk
@given(runs)
def test_the_journal_has_the_same_pending_changes_as_a_dictionary(
    tmp_path_factory: pytest.TempPathFactory, runs: list[tuple[dict[Key, tuple[int, ...]], set[Key], bool]]
) -> None:
    directory = str(tmp_path_factory.mktemp("journal"))
    model: dict[Key, OrderChange] = {}
    for begun, ended, ends_first in runs:
        changes = {key: a_change(*key, changed=order) for key, order in begun.items()}
        with open_journal(directory, CLUSTER) as journal:
            if ends_first:
                journal.end([a_change(*key) for key in ended], "restored")
                model = {key: each for key, each in model.items() if key not in ended} | changes
                journal.begin(changes.values())
            else:
                journal.begin(changes.values())
                journal.end([a_change(*key) for key in ended], "restored")
                model = {key: each for key, each in (model | changes).items() if key not in ended}
            assert journal.pending == tuple(model[key] for key in sorted(model))
        assert read_pending(directory, CLUSTER) == tuple(model[key] for key in sorted(model))


def test_an_incomplete_last_line_is_dropped(tmp_path: Path) -> None:
    whole = written(tmp_path, A0)
    torn = written(tmp_path, A1)
    for length in range(len(whole), len(torn)):
        journal_file(tmp_path).write_bytes(torn[:length])
        assert read_pending(str(tmp_path), CLUSTER) == (A0,)
        assert journal_file(tmp_path).read_bytes() == torn[:length]  # looking changes nothing
        assert written(tmp_path, B0).startswith(whole)
        assert read_pending(str(tmp_path), CLUSTER) == (A0, B0)


@settings(max_examples=50)
@given(st.data())
def test_a_damaged_complete_line_is_refused_with_its_number(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    directory = tmp_path_factory.mktemp("journal")
    content = bytearray(written(directory, A0, A1, B0, ended=[A1]))
    place = data.draw(st.integers(0, len(content) - 2), label="place")  # the last newline lost is a torn line
    line = content[:place].count(b"\n") + 1
    content[place] ^= data.draw(st.integers(1, 255), label="bits")
    journal_file(directory).write_bytes(content)
    try:
        found = read_pending(str(directory), CLUSTER)
    except JournalError as error:
        assert f"is damaged in record {line}" in str(error)  # noqa: PT017
        with pytest.raises(JournalError, match="damaged"), open_journal(str(directory), CLUSTER):
            pass
        assert journal_file(directory).read_bytes() == content
    else:
        assert found == (A0, B0)  # a hexadecimal digit of a checksum in the other case


@pytest.mark.parametrize("text", ["null", "[]", "{}", '{"begin": [{}]}', '{"begin": 3}', '{"end": "order/t/0"}'])
def test_an_invalid_entry_is_refused_although_its_checksum_is_right(tmp_path: Path, text: str) -> None:
    written(tmp_path, A0)
    with journal_file(tmp_path).open("ab") as file:
        file.write(b"%08x %s\n" % (zlib.crc32(text.encode()), text.encode()))
    with pytest.raises(JournalError, match="is damaged in record 2"):
        read_pending(str(tmp_path), CLUSTER)


def test_a_second_run_is_refused_with_the_holders_process(tmp_path: Path) -> None:
    with (
        open_journal(str(tmp_path), CLUSTER),
        pytest.raises(JournalError, match=rf"in progress on this host \(process {os.getpid()}\)"),
        open_journal(str(tmp_path), CLUSTER),
    ):
        pass
    with open_journal(str(tmp_path), CLUSTER) as journal:
        assert journal.pending == ()


def test_reading_needs_no_lock(tmp_path: Path) -> None:
    with open_journal(str(tmp_path), CLUSTER) as journal:
        journal.begin([A0])
        assert read_pending(str(tmp_path), CLUSTER) == (A0,)


HOLDER = """
import sys
from unit.fakes.journals import open_journal
with open_journal(sys.argv[1], sys.argv[2]):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_a_killed_run_leaves_no_lock(tmp_path: Path) -> None:
    command = [sys.executable, "-c", HOLDER, str(tmp_path), CLUSTER]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        with pytest.raises(JournalError, match=f"process {holder.pid}"), open_journal(str(tmp_path), CLUSTER):
            pass
        holder.send_signal(signal.SIGKILL)
    with open_journal(str(tmp_path), CLUSTER) as journal:
        assert journal.pending == ()


def test_each_cluster_has_its_own_journal(tmp_path: Path) -> None:
    with open_journal(str(tmp_path), CLUSTER) as ours, open_journal(str(tmp_path), "other") as theirs:
        ours.begin([A0])
        theirs.begin([B0])
    assert read_pending(str(tmp_path), CLUSTER) == (A0,)
    assert read_pending(str(tmp_path), "other") == (B0,)


@pytest.mark.parametrize("cluster_id", ["", "..", "a/b", "a\0", "a.b", "ü", "x" * 65, "id\n"])
def test_a_cluster_id_that_could_be_a_path_is_refused(tmp_path: Path, cluster_id: str) -> None:
    with pytest.raises(JournalError, match="which is not a valid cluster id"), open_journal(str(tmp_path), cluster_id):
        pass
    with pytest.raises(JournalError, match="which is not a valid cluster id"):
        read_pending(str(tmp_path), cluster_id)
    assert list(tmp_path.iterdir()) == []


def test_files_are_private_with_any_umask(tmp_path: Path) -> None:
    directory = tmp_path / "new" / "state"
    before = os.umask(0)
    try:
        written(directory, A0)
    finally:
        os.umask(before)
    modes = {each.name: stat.S_IMODE(each.stat().st_mode) for each in directory.iterdir()}
    assert modes == {f"{CLUSTER}.journal": 0o600, f"{CLUSTER}.lock": 0o600}
    assert stat.S_IMODE(directory.stat().st_mode) == 0o700


def test_reading_creates_nothing(tmp_path: Path) -> None:
    assert read_pending(str(tmp_path / "absent"), CLUSTER) == ()
    assert list(tmp_path.iterdir()) == []


def test_every_change_is_on_disk_before_it_is_acknowledged(tmp_path: Path) -> None:
    synced: list[tuple[str, int]] = []

    def sync(descriptor: int) -> None:
        synced.append((os.readlink(f"/proc/self/fd/{descriptor}"), os.fstat(descriptor).st_size))
        os.fsync(descriptor)

    path = str(journal_file(tmp_path))
    with open_journal(str(tmp_path), CLUSTER, sync=sync) as journal:
        assert [name for name, _size in synced] == [path, str(tmp_path)]  # a new file's name is durable too
        journal.begin([A0, A1])
        assert synced[-1] == (path, os.path.getsize(path))
        count = len(synced)
        journal.end([A0], "restored")
        assert synced[-1] == (path, os.path.getsize(path))
        assert len(synced) == count + 1


def test_an_empty_append_writes_nothing(tmp_path: Path) -> None:
    before = written(tmp_path, A0)
    with open_journal(str(tmp_path), CLUSTER) as journal:
        journal.begin([])
        journal.end([B0], "restored")
        assert journal.pending == (A0,)
    assert journal_file(tmp_path).read_bytes() == before


def test_a_directory_that_cannot_be_created_is_reported_with_the_remedy(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with (
        pytest.raises(
            JournalError, match=r"cannot be written: Not a directory\. Nothing is changed without a journal"
        ) as caught,
        open_journal(str(tmp_path / "file" / "state"), CLUSTER),
    ):
        pass
    assert "free disk space, or set journal_dir" in str(caught.value)


def test_a_journal_that_is_a_directory_is_refused(tmp_path: Path) -> None:
    journal_file(tmp_path).mkdir()
    with pytest.raises(JournalError, match="cannot be read: Is a directory"), open_journal(str(tmp_path), CLUSTER):
        pass


class FakeSync:
    """Syncs files until the disk is full."""

    def __init__(self, *, is_full: bool = False) -> None:
        self.is_full = is_full

    def __call__(self, descriptor: int) -> None:
        if self.is_full:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        os.fsync(descriptor)


def test_a_full_disk_is_reported_when_the_journal_is_opened(tmp_path: Path) -> None:
    with (
        full_disk(0),
        pytest.raises(JournalError, match=r"\.lock cannot be written: File too large"),
        open_journal(str(tmp_path), CLUSTER),
    ):
        pass
    with (
        pytest.raises(JournalError, match=r"\.journal cannot be written: No space left on device"),
        open_journal(str(tmp_path), CLUSTER, sync=FakeSync(is_full=True)),
    ):
        pass
    assert written(tmp_path, A0)


def test_a_lock_that_cannot_be_emptied_is_reported(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / f"{CLUSTER}.lock")
    with (
        pytest.raises(JournalError, match=r"\.lock cannot be written: Invalid argument"),
        open_journal(str(tmp_path), CLUSTER),
    ):
        pass


def test_a_change_that_cannot_be_made_durable_is_not_begun(tmp_path: Path) -> None:
    sync = FakeSync()
    with open_journal(str(tmp_path), CLUSTER, sync=sync) as journal:
        journal.begin([A0])
        sync.is_full = True
        with pytest.raises(JournalError, match="No space left on device"):
            journal.begin([A1])
        with pytest.raises(JournalError, match="No space left on device"):
            journal.end([A0], "restored")
        assert journal.pending == (A0,)


def test_an_incomplete_line_from_a_full_disk_is_removed_by_the_next_append(tmp_path: Path) -> None:
    with open_journal(str(tmp_path), CLUSTER) as journal:
        journal.begin([A0])
        length = journal_file(tmp_path).stat().st_size
        with full_disk(length + 20), pytest.raises(JournalError, match="cannot be written: File too large"):
            journal.begin([A1])
        assert journal_file(tmp_path).stat().st_size == length + 20
        assert not journal_file(tmp_path).read_bytes().endswith(b"\n"), "the file ends with an incomplete line"
        journal.begin([B0])
        journal.end([A0], "restored")
    assert read_pending(str(tmp_path), CLUSTER) == (B0,)


def test_the_default_directory_is_in_the_users_state_directory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", "/var/state")
    assert default_directory() == "/var/state/kafkaops-recovery"
    monkeypatch.delenv("XDG_STATE_HOME")
    monkeypatch.setenv("HOME", "/home/us")
    assert default_directory() == "/home/us/.local/state/kafkaops-recovery"
