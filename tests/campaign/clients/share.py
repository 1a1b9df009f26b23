# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A member of a share group (KIP-932) that writes down what it got and acknowledged: confluent-kafka's."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from confluent_kafka import KafkaException, ShareConsumer, TopicPartition

from campaign.clients.history import Read, Reader
from lab import Cluster, settings, versions

GROUP = "share group"


def has_share_groups(version: str) -> bool:
    """Whether new clusters of a version have share groups switched on: from 4.2 on."""
    return versions.KAFKA.index(version) >= versions.KAFKA.index("4.2.2")


@dataclass
class ShareMember:
    """One member of the group; a context manager that starts and stops it."""

    cluster: Cluster
    config: Mapping[str, Any]
    topic: str
    reader: Reader = field(default_factory=lambda: Reader(GROUP, False, may_repeat=True, is_share=True))
    errors: list[str] = field(default_factory=list)
    _acknowledged: set[tuple[str, int, int]] = field(default_factory=set)
    _ended: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None

    def __enter__(self) -> ShareMember:
        where = ("--bootstrap-server", self.cluster.bootstrap(settings.INTERNAL))
        self.cluster.client.run_tool(
            "kafka.admin.ConfigCommand",
            *(*where, "--alter", "--entity-type", "groups", "--entity-name", GROUP),
            *("--add-config", "share.auto.offset.reset=earliest"),
        ).check_returncode()
        self._thread = threading.Thread(target=self._consume, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._ended.set()
        if self._thread is not None:
            self._thread.join()

    def _consume(self) -> None:
        consumer = ShareConsumer({**self.config, "group.id": GROUP})
        consumer.set_acknowledgement_commit_callback(self._note)
        consumer.subscribe([self.topic])
        while not self._ended.is_set():
            try:
                messages = consumer.poll(0.5)
            except KafkaException as error:
                self.errors.append(str(error))
                continue
            for each in messages:
                if each.error() is None:
                    place = (each.topic() or "", each.partition() or 0)
                    read = Read(place, each.offset() or 0, (each.value() or b"").decode())
                    self.reader.reads.append(read)
                    if (*place, read.offset) in self._acknowledged:
                        self.reader.again.append(read)
        with suppress(KafkaException):
            consumer.close()

    def _note(self, offsets: Mapping[TopicPartition, set[int]], error: KafkaException | None) -> None:
        for partition, acknowledged in offsets.items():
            if error is None:
                self._acknowledged |= {(partition.topic, partition.partition, each) for each in acknowledged}
