# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Check values against their schemas, and write documents that meet theirs. Standard library only, for valid values."""

from __future__ import annotations

from typing import Any

from .dataclass_json import Schema
from .errors import Problem, refuse_if_any
from .files import readable, write_new_file
from .screen import screen


def schema_problems(value: Any, schema: Schema) -> list[Problem]:
    """Find every wrong value, missing key and unknown key, up to ``MAX_PROBLEMS``.

    Stricter than JSON Schema: 3.0 is not an integer. jsonschema is imported only for a value that is wrong: other runs
    do not wait for that.
    """
    if screen(schema)(value):
        return []
    from .schema_problems import explained  # noqa: PLC0415

    return explained(value, schema)


def write_document(path: str, document: dict[str, Any], schema: Schema) -> None:
    """Write a document into a new file, mode 0600.

    Raises DocumentError when something has that name already (``files.refuse_existing`` finds that beforehand), when it
    cannot be written, and when it does not meet its schema.
    """
    refuse_if_any(path, schema_problems(document, schema))
    write_new_file(path, readable(document))
