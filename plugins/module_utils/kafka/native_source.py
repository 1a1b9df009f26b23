# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The name of the proposals' own RPC: an API key that only an operator can know. Standard library only.

No released Kafka has GetReplicaLogInfo. It was API key 93 for a while on Kafka's trunk, and 93 is another RPC since
Kafka 4.4.0 (StreamsGroupTopologyDescriptionUpdate): what ApiVersions lists under a number says nothing of what it does.
"""

from __future__ import annotations

from dataclasses import dataclass

from ansible_collections.kafkaops.recovery.plugins.module_utils.model.errors import KafkaOpsError

HIGHEST_RELEASED_KEY = 93
"""Of Apache Kafka 4.4.0. Up to it, every number is another RPC's."""
_HIGHEST_KEY = 32767


class NativeSourceError(KafkaOpsError):
    """The native RPC cannot be asked for in such a way."""


@dataclass(frozen=True, slots=True)
class NativeSource:
    """GetReplicaLogInfo under the key that the operator names.

    Raises NativeSourceError for a key that is, or may be, another RPC.
    """

    api_key: int

    def __post_init__(self) -> None:
        if self.api_key <= HIGHEST_RELEASED_KEY:
            raise NativeSourceError(
                f"API key {self.api_key} is not GetReplicaLogInfo: Apache Kafka uses the numbers up to "
                f"{HIGHEST_RELEASED_KEY} for other RPCs (93 is StreamsGroupTopologyDescriptionUpdate since 4.4.0). Ask "
                "whoever built these brokers for the key, or ask by the public RPCs"
            )
        if self.api_key > _HIGHEST_KEY:
            raise NativeSourceError(f"API key {self.api_key} is beyond {_HIGHEST_KEY}, the highest there can be")
