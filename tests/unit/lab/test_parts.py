# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Ports, waiting, directories and ids."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from lab import storage, wait_until, work_dir
from lab.ports import HeldPorts


def test_a_held_port_can_be_listened_on_by_its_broker_only() -> None:
    ports = HeldPorts()
    port = ports.take()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port), 1)
    with socket.create_server(("127.0.0.1", port)):
        socket.create_connection(("127.0.0.1", port), 1).close()
    with socket.socket() as stranger, pytest.raises(OSError, match="in use"):
        stranger.bind(("127.0.0.1", port))
    ports.release()


def test_held_ports_differ() -> None:
    ports = HeldPorts()
    assert len({ports.take() for _time in range(50)}) == 50
    ports.release()


def test_waiting_returns_the_first_true_value() -> None:
    values = iter([None, 0, "done"])
    assert wait_until(lambda: next(values), interval=0) == "done"


def test_waiting_names_what_did_not_come() -> None:
    with pytest.raises(TimeoutError, match=r"Not within 0 s: a leader \(last value: None\)"):
        wait_until(lambda: None, 0, what="a leader")


def test_a_directory_is_removed_by_its_owner_or_the_next_one(tmp_path: Path) -> None:
    owned = work_dir.WorkDir(tmp_path)
    orphan = tmp_path / "kafkaops-lab-orphan"
    orphan.mkdir()
    (orphan / "owner.lock").touch()
    work_dir.sweep(tmp_path)
    assert list(tmp_path.iterdir()) == [owned.path]
    owned.remove()
    assert list(tmp_path.iterdir()) == []


def test_uuids_are_as_kafka_writes_them() -> None:
    assert all(len(uuid) == 22 and not uuid.startswith("-") for uuid in (storage.random_uuid() for _time in range(500)))


def test_a_broker_s_directories_get_ids_of_their_own(tmp_path: Path) -> None:
    directories = [tmp_path / "0", tmp_path / "1"]
    storage.format_broker(7, "cluster", directories)
    written = [(directory / "meta.properties").read_text(encoding="utf-8").splitlines() for directory in directories]
    assert all({"version=1", "cluster.id=cluster", "node.id=7"} < set(lines) for lines in written)
    assert len({line for lines in written for line in lines if line.startswith("directory.id=")}) == 2
