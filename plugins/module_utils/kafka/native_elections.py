# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Elections of a designated leader as the proposals write them (ElectLeaders, API key 43, version 3; KAFKA-20098).

No released Kafka has version 3. Where ApiVersions offers it, it takes the place of the detour by replica orders.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import suppress

from ansible_collections.kafkaops.recovery.plugins.module_utils.kafka import error_codes
from ansible_collections.kafkaops.recovery.plugins.module_utils.kafka.addresses import Address
from ansible_collections.kafkaops.recovery.plugins.module_utils.kafka.batches import by_topic
from ansible_collections.kafkaops.recovery.plugins.module_utils.kafka.elections import ElectionAnswer, election_answers
from ansible_collections.kafkaops.recovery.plugins.module_utils.kafka.errors import BrokerCallError
from ansible_collections.kafkaops.recovery.plugins.module_utils.kafka.wire import Wire
from ansible_collections.kafkaops.recovery.plugins.module_utils.model.partition import TopicPartition

# pylint sees no kafka-python in ansible-test, and so no metaclass. pylint: disable=invalid-metaclass,unused-import

DESIGNATED = 2
"""The election type after PREFERRED and UNCLEAN; the proposal names it and gives no number."""
VERSION = 3

with suppress(ImportError):  # a missing library is told by name before anything is done (glue/failures.py)
    from kafka.protocol.admin import DescribeClusterRequest
    from kafka.protocol.api_message import ApiMessage

    from ansible_collections.kafkaops.recovery.plugins.module_utils.kafka.messages import DefinedMessage

    class DesignatedElectLeadersRequest(ApiMessage, metaclass=DefinedMessage):
        """Version 3 adds DesignatedLeaders, one for each entry of Partitions."""

        definition = {  # noqa: RUF012  # kafka-python reads it as it is
            "apiKey": 43,
            "type": "request",
            "name": "ElectLeadersRequest",
            "validVersions": "0-3",
            "flexibleVersions": "2+",
            "fields": [
                {"name": "ElectionType", "type": "int8", "versions": "1+"},
                {
                    "name": "TopicPartitions",
                    "type": "[]TopicPartitions",
                    "versions": "0+",
                    "nullableVersions": "0+",
                    "fields": [
                        {"name": "Topic", "type": "string", "versions": "0+"},
                        {"name": "Partitions", "type": "[]int32", "versions": "0+"},
                        {
                            "name": "DesignatedLeaders",
                            "type": "[]int32",
                            "versions": "3+",
                            "nullableVersions": "3+",
                        },
                    ],
                },
                {"name": "TimeoutMs", "type": "int32", "versions": "0+", "default": "60000"},
            ],
        }

    class DesignatedElectLeadersResponse(ApiMessage, metaclass=DefinedMessage):
        """The same as Kafka's own of version 2. kafka-python finds it by its key for all versions."""

        definition = {  # noqa: RUF012
            "apiKey": 43,
            "type": "response",
            "name": "ElectLeadersResponse",
            "validVersions": "0-3",
            "flexibleVersions": "2+",
            "fields": [
                {"name": "ThrottleTimeMs", "type": "int32", "versions": "0+"},
                {"name": "ErrorCode", "type": "int16", "versions": "1+", "ignorable": False},
                {
                    "name": "ReplicaElectionResults",
                    "type": "[]ReplicaElectionResult",
                    "versions": "0+",
                    "fields": [
                        {"name": "Topic", "type": "string", "versions": "0+"},
                        {
                            "name": "PartitionResult",
                            "type": "[]PartitionResult",
                            "versions": "0+",
                            "fields": [
                                {"name": "PartitionId", "type": "int32", "versions": "0+"},
                                {"name": "ErrorCode", "type": "int16", "versions": "0+"},
                                {
                                    "name": "ErrorMessage",
                                    "type": "string",
                                    "versions": "0+",
                                    "nullableVersions": "0+",
                                },
                            ],
                        },
                    ],
                },
            ],
        }


def offers_designated_election(wire: Wire, addresses: Collection[Address]) -> bool:
    """Whether every one of these brokers has the version with designated leaders.

    While a cluster is being upgraded some have it and some do not, and a request may end at any: then none is asked.
    A broker that does not answer is taken for one without. Sends nothing but ApiVersions and DescribeCluster.
    """
    try:
        for address in addresses:
            wire.call(address, DescribeClusterRequest())
            if not wire.connection(address).supports(DesignatedElectLeadersRequest, VERSION):
                return False
    except BrokerCallError:
        return False
    return bool(addresses)


def elect_designated(
    wire: Wire, address: Address, leaders: Mapping[TopicPartition, int]
) -> dict[TopicPartition, ElectionAnswer]:
    """Asks for each partition's election of the broker named, at most PARTITIONS_PER_REQUEST of them.

    Raises ValueError for no partitions. BrokerCallError: the outcome is unknown. RequestRefusedError: nothing was
    elected.
    """
    if not leaders:
        raise ValueError("an election over no partitions is never asked for")
    message = DesignatedElectLeadersRequest
    request = message(
        election_type=DESIGNATED,
        topic_partitions=[
            message.TopicPartitions(
                topic=topic,
                partitions=numbers,
                designated_leaders=[leaders[TopicPartition(topic, number)] for number in numbers],
            )
            for topic, numbers in by_topic(leaders).items()
        ],
        timeout_ms=wire.settings.request_timeout_ms,
        min_version=VERSION,
        max_version=VERSION,
    )
    response = wire.call(address, request)
    answers = election_answers(response)
    if response.error_code and not answers:
        raise error_codes.refusal("ElectLeaders", response.error_code)
    return answers
