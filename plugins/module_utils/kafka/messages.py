# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Kafka messages that kafka-python does not have, made from Kafka's own definitions.

A definition is what a ``common/message/*.json`` of the kafka-clients jar holds, as a Python dict: AnsiballZ packs only
Python files. A message class carries it in ``definition``:

    class FrobnicateRequest(ApiMessage, metaclass=DefinedMessage):
        definition = {"apiKey": 4711, "type": "request", "name": "FrobnicateRequest", ...}
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

with suppress(ImportError):  # a missing library is told by name before anything is done (glue/failures.py)
    from kafka.protocol.api_data import JsonSchemaData
    from kafka.protocol.api_message import ApiMessage
    from kafka.protocol.schemas import StructField

    class DefinedMessage(type(ApiMessage)):  # type: ignore[misc]  # kafka-python has no types for its metaclass
        """kafka-python's metaclass of messages; it takes the definition from the class, not from its resources."""

        def __new__(cls, name: str, bases: tuple[type, ...], attributes: dict[str, Any], **options: Any) -> Any:
            definition: Mapping[str, Any] | None = attributes.get("definition")
            if definition is None:  # the class of one version of a message, which inherits everything
                return super().__new__(cls, name, bases, attributes, **options)
            attributes |= {"_json": definition, "_struct": StructField(definition)}
            # JsonSchemaData.__new__ would look for a resource named like the class.
            return super(JsonSchemaData, cls).__new__(cls, name, bases, attributes, **options)
