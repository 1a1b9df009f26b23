# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Files with errors, through Ansible: they are refused before any connection is opened.

Every case with its exact words is in tests/unit/documents/test_refused_files.py. Here is one of each kind, as a person
sees it, and the proof that no broker is asked.
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
_OF_ANY_FILE: list[tuple[bytes, str]] = [
    (b"", "is refused: it is empty"),
    (_GOOD.encode("utf-16"), "is refused: it is UTF-16 text, or holds NUL bytes"),
    (_GOOD[:-1].encode(), "line 1, column 51: the JSON text ends too early"),
    (b"[" * 100_000, "line 1, column 33: lists and objects go deeper than 32 levels"),
]
"""Contents, and the message for any kind of file."""
_OF_PARTITIONS: list[tuple[bytes, str]] = [
    (b"{}", 'the key "partitions" is missing'),
    (b'{"partitions": [{"topic": "a", "partitions": [0, -1]}]}', "/partitions/0/partitions/1: -1 is not allowed"),
    (_GOOD.replace('"a"', '"\N{CYRILLIC SMALL LETTER A}"').encode(), "it holds U+0430 CYRILLIC SMALL LETTER A"),
]


@pytest.fixture
def nobody() -> Iterator[tuple[str, list[object]]]:
    """Return an address that records every connection, and the records."""
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


@pytest.mark.wide
def test_each_is_refused_with_its_place_before_any_connection(nobody: tuple[str, list[object]], tmp_path: Path) -> None:
    address, connections = nobody

    def case(number: int, content: bytes, words: str) -> dict[str, str]:
        path = tmp_path / f"{number}.json"
        path.write_bytes(content)
        return {"path": str(path), "words": words}

    of_any_file = [case(number, *each) for number, each in enumerate(_OF_ANY_FILE)]
    of_partitions = [case(number, *each) for number, each in enumerate(_OF_PARTITIONS, len(_OF_ANY_FILE))]
    (tmp_path / "a.json").mkdir()
    of_any_file.append({"path": str(tmp_path / "a.json"), "words": "is refused: it is a directory, not a file"})
    os.mkfifo(tmp_path / "b.json")
    of_any_file.append({"path": str(tmp_path / "b.json"), "words": "is refused: it is a FIFO, not a file"})
    play = tmp_path / "refusals.yml"
    play.write_text(_PLAY)

    variables = {"of_any_file": of_any_file, "of_partitions": of_partitions, "address": address}
    run = run_playbook(str(play), variables)
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
      loop: "{{ of_any_file + of_partitions }}"
      loop_control:
        label: "{{ item.words }}"
      register: partitions
      failed_when: not (partitions.failed and item.words in partitions.msg | replace(item.path, ''))
    - name: Read a bad plan
      kafkaops.recovery.designated_election:
        plan_file: "{{ item.path }}"
      loop: "{{ of_any_file }}"
      loop_control:
        label: "{{ item.words }}"
      register: plans
      failed_when: not (plans.failed and item.words in plans.msg | replace(item.path, ''))
"""
