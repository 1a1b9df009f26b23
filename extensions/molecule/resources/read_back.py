# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Prints what librdkafka reads of each partition, as JSON: ``read_back.py STATE_FILE``."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from confluent_kafka import Consumer, TopicPartition

_TIMEOUT_S = 30.0


def main(state_file: Path) -> None:
    """One JSON list on stdout, in order of partition."""
    state = json.loads(state_file.read_text(encoding="utf-8"))
    consumer = Consumer({"bootstrap.servers": state["bootstrap_servers"], "group.id": "molecule"})
    partitions = consumer.list_topics(state["topic"], _TIMEOUT_S).topics[state["topic"]].partitions
    read = []
    for number in sorted(partitions):
        low, high = consumer.get_watermark_offsets(TopicPartition(state["topic"], number), _TIMEOUT_S)
        described = partitions[number]
        read.append({"leader": described.leader, "replicas": described.replicas, "records": high - low})
    consumer.close()
    json.dump(read, sys.stdout)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
