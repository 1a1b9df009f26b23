# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Group A of the fault matrix, through Ansible: files that are refused before any connection is opened.

Every case with its exact words is in tests/unit/documents; here is what a person sees, and that no broker does.
"""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from lab.playbook import run_playbook

_GOOD = '{"partitions": [{"topic": "a", "partitions": [0]}]}'
_CASES: dict[str, tuple[bytes, str]] = {
    "empty file": (b"", "empty"),
    "empty object": (b"{}", "partitions"),
    "duplicate entry": (b'{"partitions": [{"topic": "a", "partitions": [0, 1, 0]}]}', "/partitions/0/partitions/2"),
    "negative": (b'{"partitions": [{"topic": "a", "partitions": [-1]}]}', "/partitions/0/partitions/0"),
    "beyond int32": (b'{"partitions": [{"topic": "a", "partitions": [2147483648]}]}', "/partitions/0/partitions/0"),
    "text": (b'{"partitions": [{"topic": "a", "partitions": ["3"]}]}', "/partitions/0/partitions/0"),
    "fraction": (b'{"partitions": [{"topic": "a", "partitions": [3.0]}]}', "/partitions/0/partitions/0"),
    "true": (b'{"partitions": [{"topic": "a", "partitions": [true]}]}', "/partitions/0/partitions/0"),
    "null": (b'{"partitions": [{"topic": "a", "partitions": [null]}]}', "/partitions/0/partitions/0"),
    "dots": (b'{"partitions": [{"topic": "..", "partitions": [0]}]}', "/partitions/0/topic"),
    "too long": (_GOOD.replace('"a"', f'"{"a" * 250}"').encode(), "/partitions/0/topic"),
    "NUL": (b'{"partitions": [{"topic": "a\\u0000", "partitions": [0]}]}', "/partitions/0/topic"),
    "look-alike": (_GOOD.replace('"a"', '"\N{CYRILLIC SMALL LETTER A}"').encode(), "CYRILLIC SMALL LETTER A"),
    "UTF-16": (_GOOD.encode("utf-16"), "UTF-16"),
    "broken UTF-8": (b'{"partitions": "\xff"}', "UTF-8"),
    "truncated": (_GOOD[:-1].encode(), "line 1"),
    "trailing": (_GOOD.encode() + b" x", "line 1"),
    "duplicate keys": (b'{"partitions": [], "partitions": []}', "partitions"),
    "extra keys": (b'{"partitions": [{"topic": "a", "partitions": [0], "more": 1}]}', "more"),
    "NaN": (b'{"partitions": [{"topic": "a", "partitions": [NaN]}]}', "NaN"),
    "nested": (b"[" * 100_000, "nest"),
}


@pytest.fixture
def nobody() -> Iterator[tuple[str, list[object]]]:
    """An address that notes every connection, and the notes."""
    seen: list[object] = []
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def accept() -> None:
            while True:
                try:
                    seen.append(listening.accept())
                except OSError:
                    return

        threading.Thread(target=accept, daemon=True).start()
        yield f"127.0.0.1:{listening.getsockname()[1]}", seen
        listening.shutdown(socket.SHUT_RDWR)


def test_each_is_refused_with_its_place_before_any_connection(nobody: tuple[str, list[object]], tmp_path: Path) -> None:
    address, connections = nobody
    cases = []
    for name, (content, words) in _CASES.items():
        path = tmp_path / f"{name}.json"
        path.write_bytes(content)
        cases.append({"path": str(path), "words": words})
    (tmp_path / "directory.json").mkdir()
    os.mkfifo(tmp_path / "fifo.json")
    cases += [{"path": str(tmp_path / f"{kind}.json"), "words": kind} for kind in ("directory", "fifo")]
    play = tmp_path / "refusals.yml"
    play.write_text(_PLAY)

    run = run_playbook(str(play), {"cases": cases, "address": address})
    assert run.returncode == 0, run.output
    assert "Traceback" not in run.output
    assert connections == []


_PLAY = """
- name: Refuse bad files
  hosts: localhost
  gather_facts: false
  module_defaults:
    group/kafkaops.recovery.kafka:
      bootstrap_servers: "{{ address }}"
  tasks:
    - name: Read a bad list of partitions
      kafkaops.recovery.offline_partition_info:
        partitions_file: "{{ item.path }}"
      loop: "{{ cases }}"
      loop_control:
        label: "{{ item.words }}"
      register: partitions
      failed_when: not (partitions.failed and item.words | lower in partitions.msg | lower)
    - name: Read a bad plan
      kafkaops.recovery.designated_election:
        plan_file: "{{ item.path }}"
      loop: "{{ cases | selectattr('words', 'in', ['empty', 'directory', 'fifo', 'UTF-16', 'line 1', 'nest']) }}"
      loop_control:
        label: "{{ item.words }}"
      register: plans
      failed_when: not (plans.failed and item.words | lower in plans.msg | lower)
"""
