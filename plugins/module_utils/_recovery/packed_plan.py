# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A plan as data that goes from one job to the next, with ``set_stats`` or in a variable.

It is JSON in one string. AWX writes the texts of extra variables as ``!unsafe``, and what looks like a time or a number
comes back as one then, whatever quotes it has: as a mapping, a plan would be another one in the next job.

JSON of more than ``PLAIN_BYTES`` is compressed, and so is what Ansible could take for a template: extra variables are
templated, and a plan quotes what brokers answered.
"""

from __future__ import annotations

import base64
import binascii
import json
import zlib
from typing import Any

from .._documents.errors import DocumentError, Problem
from .._documents.files import MIB
from .._documents.strict_json import parse_json
from .plan_file import MAX_BYTES

PLAIN_BYTES = 64 * 1024
PACKED_BYTES = MIB
"""Of a compressed plan, as base64. AWX keeps artifacts in its database, and hands them to every later node."""
PLAIN, COMPRESSED = "json", "zlib+base64"
_TEMPLATE_MARKS = ("{{", "{%", "{#")


def pack(document: dict[str, Any]) -> dict[str, Any]:
    """Return a plan's document as ``{"encoding", "digest", "data"}``.

    Raises DocumentError where that takes more than ``PACKED_BYTES``.
    """
    text = json.dumps(document, ensure_ascii=False, separators=(",", ":"))
    data = text.encode()
    if len(data) <= PLAIN_BYTES and not any(mark in text for mark in _TEMPLATE_MARKS):
        return {"encoding": PLAIN, "digest": document["digest"], "data": text}
    packed = base64.b64encode(zlib.compress(data, 9)).decode()
    if len(packed) > PACKED_BYTES:
        raise DocumentError(
            "plan",
            [
                Problem(
                    "",
                    f"takes {len(packed):,} bytes compressed, and at most {PACKED_BYTES:,} are published",
                    "Write it to a file that both jobs reach (plan_file), or plan for fewer partitions at a time",
                )
            ],
        )
    return {"encoding": COMPRESSED, "digest": document["digest"], "data": packed}


def unpack(value: Any, place: str = "plan") -> Any:
    """Return the plan's document, packed or not. What is in it is not checked.

    Raises DocumentError for what is packed and cannot be read, or is larger than a plan file may be.
    """
    if not isinstance(value, dict) or "encoding" not in value:
        return value
    if value["encoding"] not in (PLAIN, COMPRESSED) or not isinstance(value.get("data"), str):
        message = f"a published plan has the encoding {PLAIN} or {COMPRESSED}, and its data as a string"
        raise DocumentError(place, [Problem("/encoding", message, "Hand the plan on as it was published")])
    if value["encoding"] == PLAIN:
        return parse_json(value["data"].encode(), place, lambda _value: ())
    decompressor = zlib.decompressobj()
    try:
        data = decompressor.decompress(base64.b64decode(value["data"], validate=True), MAX_BYTES)
    except (binascii.Error, ValueError, zlib.error) as error:
        raise DocumentError(place, [Problem("/data", f"cannot be read: {error}", _AGAIN)]) from error
    if decompressor.unconsumed_tail or not decompressor.eof:
        message = f"is cut, or holds more than {MAX_BYTES:,} bytes"
        raise DocumentError(place, [Problem("/data", message, _AGAIN)])
    return parse_json(data, place, lambda _value: ())


_AGAIN = "Hand the plan on as it was published, or make it again"
