# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Check that the run topic could be created. Creates nothing."""

from __future__ import annotations

from collections.abc import Mapping

from .._kafka import error_codes
from .._kafka.addresses import Address
from .._kafka.errors import BrokerCallError, RequestRefusedError
from .._kafka.port import Kafka
from .own_topic import TopicUnavailableError
from .run_topic import CONFIG, MOST_REPLICAS


def check_run_topic(kafka: Kafka, living: Mapping[int, Address], topic: str) -> bool:
    """Let the controller check the creation of the run topic, with its own replicas and configs.

    ``living`` are the addresses of brokers that answer. Returns False where the topic exists already.

    Raises TopicUnavailableError where it would be refused, or where nobody answers.
    """
    replicas = [*living][:MOST_REPLICAS]
    problem = "no broker answers"
    for address in living.values():
        try:
            kafka.check_topic_creation(address, topic, replicas, CONFIG)
        except RequestRefusedError as error:
            if error.code == error_codes.TOPIC_ALREADY_EXISTS:
                return False
            problem = str(error)
            if not error.is_transient:
                break
        except BrokerCallError as error:
            problem = str(error)
        else:
            return True
    raise TopicUnavailableError(f"topic {topic} could not be created: {problem}")
