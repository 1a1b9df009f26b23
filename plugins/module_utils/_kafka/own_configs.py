# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Configs of one broker or topic with where they are from (DescribeConfigs, key 32), and edits (KIP-339, key 44).

A broker's own configs are read from, and written to, that broker: it validates what the others cannot. Reads lag writes
by some milliseconds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress

from .._model.setting import Setting, Source
from . import error_codes
from .addresses import Address
from .wire import Wire

with suppress(ImportError):  # a missing library is named before anything is done (_module/run.py)
    from kafka.protocol.admin import DescribeConfigsRequest, IncrementalAlterConfigsRequest


TOPIC = 2
BROKER = 4
_SET = 0
_DELETE = 1
_SOURCES = {1: Source.BROKER, 2: Source.BROKER, 3: Source.CLUSTER, 4: Source.STATIC, 5: Source.DEFAULT}
"""DescribeConfigs' config_source. A topic's own value counts as the resource's own, like a broker's."""


def read_own(wire: Wire, address: Address | None, kind: int, resource: str, names: Sequence[str]) -> dict[str, Setting]:
    """Return the named configs of a broker or a topic. A config that is unknown there and not set is left out.

    A topic's can be asked of any broker: ``address`` is None then.

    Raises BrokerCallError (NoBrokerAnswersError without an address) or RequestRefusedError.
    """
    if address is None:
        response, _asked = wire.call_current(lambda: _describe(kind, resource, names), "DescribeConfigs")
    else:
        response = wire.call(address, _describe(kind, resource, names))
    found = {}
    for result in response.results:
        if result.error_code:
            raise error_codes.refusal("DescribeConfigs", result.error_code, result.error_message)
        for config in result.configs:
            if config.name in names:
                found[config.name] = Setting(config.value, _SOURCES.get(config.config_source, Source.OTHER))
    return found


def _describe(kind: int, resource: str, names: Sequence[str]) -> DescribeConfigsRequest:
    message = DescribeConfigsRequest
    return message(
        resources=[
            message.DescribeConfigsResource(
                resource_type=kind, resource_name=resource, configuration_keys=[*names] or None
            )
        ]
    )


def write_own(wire: Wire, address: Address, kind: int, resource: str, edits: Mapping[str, str | None]) -> None:
    """Set configs of a broker or a topic, or delete them (None), all or none.

    Raises BrokerCallError: then the outcome is unknown. RequestRefusedError: nothing was changed.
    """
    message = IncrementalAlterConfigsRequest
    resource_message = message.AlterConfigsResource
    request = message(
        validate_only=False,
        resources=[
            resource_message(
                resource_type=kind,
                resource_name=resource,
                configs=[
                    resource_message.AlterableConfig(
                        name=name, config_operation=_DELETE if value is None else _SET, value=value
                    )
                    for name, value in edits.items()
                ],
            )
        ],
    )
    for result in wire.call(address, request).responses:
        if result.error_code:
            raise error_codes.refusal("IncrementalAlterConfigs", result.error_code, result.error_message)
