# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""JSON as text: for people and ``diff``, and for the digest. Standard library only."""

from __future__ import annotations

import hashlib
import json
from typing import Any


def readable(document: dict[str, Any]) -> bytes:
    """The document in UTF-8: a line for each key of it, and one for each object in a list. Always the same bytes."""
    keys = ",\n".join(f"  {_text(key)}: {_laid_out(value, '  ')}" for key, value in document.items())
    return f"{{\n{keys}\n}}\n".encode()


def _laid_out(value: Any, indent: str) -> str:
    if _is_list_of_objects(value):
        deeper = f"{indent}  "
        items = ",\n".join(f"{deeper}{_laid_out(item, deeper)}" for item in value)
        return f"[\n{items}\n{indent}]"
    if isinstance(value, dict) and any(map(_is_list_of_objects, value.values())):
        return "{" + ", ".join(f"{_text(key)}: {_laid_out(item, indent)}" for key, item in value.items()) + "}"
    return _text(value)


def _is_list_of_objects(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and isinstance(value[0], dict)


_text = json.JSONEncoder(ensure_ascii=False).encode


def digest(document: dict[str, Any]) -> str:
    """``sha256:<hex>`` over canonical JSON (sorted keys, no white space, UTF-8) without the key ``digest``."""
    content = {key: value for key, value in document.items() if key != "digest"}
    canonical = json.dumps(content, ensure_ascii=False, separators=(",", ":"), sort_keys=True)
    # What holds a lone surrogate is refused elsewhere, with its place; here it only must not raise.
    return f"sha256:{hashlib.sha256(canonical.encode('utf-8', 'surrogatepass')).hexdigest()}"
