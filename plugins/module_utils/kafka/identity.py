# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Makes sure that an address belongs to the broker it is listed for."""

from __future__ import annotations

from contextlib import suppress

from ansible_collections.kafkaops.recovery.plugins.module_utils.kafka import error_codes
from ansible_collections.kafkaops.recovery.plugins.module_utils.kafka.errors import BrokerCallError
from ansible_collections.kafkaops.recovery.plugins.module_utils.kafka.wire import Connection
from ansible_collections.kafkaops.recovery.plugins.module_utils.model.replica_log import Cause

with suppress(ImportError):  # a missing library is told by name before anything is done (glue/failures.py)
    from kafka.protocol.admin import DescribeConfigsRequest

_BROKER_RESOURCE = 4
_INVALID_REQUEST = 42


def check_identity(connection: Connection, broker_id: int, *, timeout_ms: int | None = None) -> None:
    """Asks for a config of this very broker, which no other broker answers (DescribeConfigs, API key 32).

    No RPC tells a broker's id outright. Without DESCRIBE_CONFIGS on the cluster the question is refused before the id
    is looked at, and the address is taken on trust.

    Raises BrokerCallError with Cause.WRONG_BROKER, or as any call does.
    """
    message = DescribeConfigsRequest
    resource = message.DescribeConfigsResource(
        resource_type=_BROKER_RESOURCE, resource_name=str(broker_id), configuration_keys=["node.id"]
    )
    response = connection.call(message(resources=[resource]), timeout_ms=timeout_ms)
    for result in response.results:
        if result.error_code == _INVALID_REQUEST:
            raise BrokerCallError(
                str(connection.address),
                Cause.WRONG_BROKER,
                f"another broker answers here: {error_codes.described(result.error_code, result.error_message)}",
                hint=f"check advertised.listeners of broker {broker_id}, and any proxy or load balancer before it",
            )
