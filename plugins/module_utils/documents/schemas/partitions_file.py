# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The file that names partitions: the KIP's (KAFKA-20098), and kafka-leader-election.sh's. Standard library only."""

from __future__ import annotations

from ansible_collections.kafkaops.recovery.plugins.module_utils.documents.schemas.vocabulary import (
    PARTITION,
    TOPIC,
    array,
    document,
    record,
)

_AN_ENTRY = 'an entry is {"topic": "foo", "partitions": [0, 3, 5]}, or {"topic": "foo", "partition": 0}'

ENTRIES = array(
    "the partitions are a list of at least one entry",
    {
        "description": _AN_ENTRY,
        "type": "object",
        "if": {"required": ["partition"]},
        "then": record(_AN_ENTRY, {"topic": TOPIC, "partition": PARTITION}),
        "else": record(
            _AN_ENTRY,
            {"topic": TOPIC, "partitions": array("the partitions of a topic are a list of at least one", PARTITION, 1)},
        ),
    },
    1,
)

PARTITIONS_FILE = document(
    "partitions-file",
    "Partitions to look at or to recover",
    record("a partitions file is an object", {"partitions": ENTRIES}),
)
