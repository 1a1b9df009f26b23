# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Disks of controllers, written byte by byte as Kafka writes them. No Kafka writes them here."""

from __future__ import annotations

import json
import struct
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from crc32c import crc32c

from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.record_batch import SNAPSHOT_FOOTER
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.voters_record import encode_voters_batch
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.quorum import Endpoint, VoterNode
from ansible_collections.kafkaops.recovery.plugins.module_utils._quorum_recovery.copy import LogCopy
from ansible_collections.kafkaops.recovery.plugins.module_utils._quorum_recovery.node import read_properties
from ansible_collections.kafkaops.recovery.plugins.module_utils._quorum_recovery.plan import QuorumPlan, decide
from ansible_collections.kafkaops.recovery.plugins.module_utils._quorum_recovery.report import Verified
from ansible_collections.kafkaops.recovery.plugins.module_utils._quorum_recovery.scan import read_copy
from unit.salvage.batches import a_batch, batch

CLUSTER_ID = "4L6g3nShT-eMCtK--X86sw"
VOTERS = (101, 102, 103)
SNAPSHOT_HEADER = 3
_KRAFT_VERSION, _LEVEL_1 = 5, struct.pack(">hhb", 0, 1, 0)
BEGIN_TRANSACTION, END_TRANSACTION = b"\x01\x17\x00\x00", b"\x01\x18\x00\x00"
"""Frame version, type and version; then, of the first, its number of tagged fields."""


def directory_id(node_id: int) -> str:
    return f"{node_id:A>21}A"


def voter(node_id: int) -> VoterNode:
    return VoterNode(node_id, directory_id(node_id), (Endpoint("CONTROLLER", f"c{node_id}.invalid", 9093),), 0, 1)


def topic_record(name: str) -> bytes:
    """Return a TopicRecord: frame version, type, version, name, id, and no tagged fields."""
    return b"\x01\x02\x00" + bytes([len(name) + 1]) + name.encode() + name.encode().ljust(16, b"\0") + b"\0"


class Disk:
    """One controller's log directory and properties file."""

    def __init__(
        self,
        directory: Path,
        node_id: int = VOTERS[0],
        *,
        dynamic: bool = True,
        cluster_id: str = CLUSTER_ID,
        voters: Sequence[int] = VOTERS,
        role: str = "controller",
    ) -> None:
        self.host = f"node{node_id}"
        self._node_id, self._voters, self._is_dynamic = node_id, voters, dynamic
        self.log_dir = directory / self.host / "data"
        self.metadata_dir = self.log_dir / "__cluster_metadata-0"
        self.metadata_dir.mkdir(parents=True)
        self.segment = self.metadata_dir / f"{0:020}.log"
        self.quorum_state = self.metadata_dir / "quorum-state"
        self.properties = directory / self.host / "server.properties"
        self.end_offset = 0
        identity = f"version=1\ncluster.id={cluster_id}\nnode.id={node_id}\ndirectory.id={directory_id(node_id)}\n"
        (self.log_dir / "meta.properties").write_text(identity, encoding="utf-8")
        static = "" if dynamic else ",".join(f"{each}@c{each}.invalid:9093" for each in voters)
        lines = [
            "# kept as it is",
            f"node.id={node_id}",
            f"process.roles={role}",
            *([f"controller.quorum.voters = {static}"] if static else []),
            f"log.dirs={self.log_dir}",
            "controller.listener.names=CONTROLLER",
            f"listeners=CONTROLLER://c{node_id}.invalid:9093",
        ]
        self.properties.write_text("\n".join(lines) + "\n", encoding="utf-8")
        state: dict[str, object] = {"leaderId": voters[-1], "leaderEpoch": 3, "votedId": voters[-1], "data_version": 0}
        if dynamic:
            self._write(_control_batch(self.end_offset, _KRAFT_VERSION, _LEVEL_1))
            self._write(encode_voters_batch([voter(each) for each in voters], offset=1, epoch=1, time_ms=1))
            state |= {"votedDirectoryId": directory_id(voters[-1]), "data_version": 1}
        else:
            state |= {"currentVoters": [{"voterId": each} for each in voters]}
        self.quorum_state.write_text(json.dumps(state, separators=(",", ":")), encoding="utf-8")

    def begin_at(self, offset: int) -> Disk:
        """Begin the log there, as if Kafka had removed what a snapshot covers."""
        self.segment.unlink()
        self.segment = self.metadata_dir / f"{offset:020}.log"
        self.end_offset = offset
        return self

    def add(self, *records: bytes, epoch: int = 1) -> Disk:
        """Append one batch of records."""
        self._write(batch(self.end_offset, records, epoch=epoch), len(records))
        return self

    def add_voters(self, voters: Sequence[int]) -> None:
        """Append a VotersRecord, as the leader does when a voter is added. The others have new disks."""
        disks = {each: f"B{directory_id(each)[1:]}" for each in voters} | {self._node_id: directory_id(self._node_id)}
        new = [replace(voter(each), directory_id=disks[each]) for each in voters]
        if self._is_dynamic:
            self._write(encode_voters_batch(new, offset=self.end_offset, epoch=9, time_ms=1))

    def add_snapshot(self, end: int, *records: bytes, epoch: int = 1) -> Path:
        """Write a complete snapshot with the voters of this disk and these records."""
        parts = [_control_batch(0, SNAPSHOT_HEADER, bytes(5))]
        parts += [batch(number, [each], epoch=1) for number, each in enumerate(records, 1)]
        parts.append(_control_batch(len(parts), _KRAFT_VERSION, _LEVEL_1))
        voters = [voter(each) for each in self._voters]
        parts.append(encode_voters_batch(voters, offset=len(parts), epoch=1, time_ms=1))
        parts.append(_control_batch(len(parts), SNAPSHOT_FOOTER, bytes(5)))
        path = self.metadata_dir / f"{end:020}-{epoch:010}.checkpoint"
        path.write_bytes(b"".join(parts))
        return path

    def read(self) -> LogCopy:
        properties = read_properties(str(self.properties))
        return read_copy(self.host, properties.log_dir, properties).copy

    def files(self) -> dict[str, bytes]:
        """Return everything on the disk and beside it."""
        return {str(each): each.read_bytes() for each in self.log_dir.parent.rglob("*") if each.is_file()}

    def _write(self, content: bytes, records: int = 1) -> None:
        with self.segment.open("ab") as file:
            file.write(content)
        self.end_offset += records


def a_plan(*disks: Disk, lost: Sequence[int] = VOTERS[1:]) -> QuorumPlan:
    """Return the plan for these disks, which must not be refused."""
    decision = decide([each.read() for each in disks], lost)
    assert decision.plan is not None, decision.refusals
    return decision.plan


def a_verified(*, missing_brokers: int = 0, voters: Sequence[int] = VOTERS[:1]) -> Verified:
    """Return what a verification found of a quorum that its first voter leads."""
    return Verified(
        leader_id=voters[0],
        leader_epoch=2,
        high_watermark=5,
        voters=tuple(voters),
        brokers=(),
        missing_brokers=missing_brokers,
        since=(),
        backup="",
    )


@contextmanager
def locked_by_another_process(log_dir: Path) -> Iterator[None]:
    """Hold the lock of a log directory as a node does. A process never sees its own lock."""
    code = "import fcntl, sys\nf = open(sys.argv[1], 'ab')\nfcntl.lockf(f, fcntl.LOCK_EX)\nprint(flush=True)\ninput()"
    command = [sys.executable, "-c", code, str(log_dir / ".lock")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        try:
            yield
        finally:
            process.kill()


def _control_batch(offset: int, kind: int, value: bytes) -> bytes:
    """Return a control batch with one record."""
    content = bytearray(a_batch(offset, control=kind, epoch=1).replace(b"\x0avalue", b"\x0a" + value))
    struct.pack_into(">I", content, 17, crc32c(bytes(content[21:])))
    return bytes(content)
