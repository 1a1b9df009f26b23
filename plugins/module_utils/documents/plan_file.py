# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The plan file: what one run intends, to be reviewed, edited, and carried out by another run.

A superset of the KIP's ``{"partitions": [{"topic", "partition", "designatedLeader"}]}`` (KAFKA-20098), so that the
KIP's elect tool can read it. Schema: docs/schemas/plan-file.schema.json. It holds no secret.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Any

from ansible_collections.kafkaops.recovery.plugins.module_utils.documents.fault import (
    DocumentError,
    Fault,
    refuse_if_any,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils.documents.files import MIB, read_file, write_new_file
from ansible_collections.kafkaops.recovery.plugins.module_utils.documents.json_text import digest, readable
from ansible_collections.kafkaops.recovery.plugins.module_utils.documents.plan_consistency import consistency_faults
from ansible_collections.kafkaops.recovery.plugins.module_utils.documents.plan_json import (
    SCHEMA_VERSION,
    plan_from_json,
    plan_to_json,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils.documents.schemas.plan_file import DIGEST, PLAN_FILE
from ansible_collections.kafkaops.recovery.plugins.module_utils.documents.screen import is_integer, screen
from ansible_collections.kafkaops.recovery.plugins.module_utils.documents.strict_json import parse_json
from ansible_collections.kafkaops.recovery.plugins.module_utils.documents.validation import schema_faults
from ansible_collections.kafkaops.recovery.plugins.module_utils.recovery.plan import Plan

MAX_BYTES = 256 * MIB
"""100,000 elections with three candidates each take some 110 MiB."""


def write_plan(plan: Plan, path: str) -> dict[str, Any]:
    """Write a plan file, mode 0600, and return what is in it. The same plan makes the same bytes.

    Raises DocumentError when something has that name already, when it cannot be written, and for a plan that
    ``read_plan`` would refuse.
    """
    document = plan_document(plan)
    data = readable(document)
    if len(data) > MAX_BYTES:
        problem = f"takes more than {MAX_BYTES:,} bytes"
        raise DocumentError(path, [Fault("", problem, "Plan for fewer partitions at a time")])
    refuse_if_any(path, _content_faults(document))
    write_new_file(path, data)
    return document


def read_plan(path: str) -> Plan:
    """The plan in a file of at most ``MAX_BYTES`` bytes.

    Raises DocumentError with every fault that is in the file; one is that its content does not fit its digest.
    """
    return check_file(path).plan


def check_plan(value: Any, place: str = "plan") -> Plan:
    """The plan in a value that did not come from a file; ``place`` is what that is called in the error.

    Raises DocumentError with every fault that is in the value, as ``read_plan`` does.
    """
    refuse_if_any(place, chain(_content_faults(value), _digest_faults(value, "Give the plan as it was made")))
    return plan_from_json(value)


def plan_document(plan: Plan) -> dict[str, Any]:
    """The plan as it stands in a file, digest included: what ``check_plan`` takes."""
    document = plan_to_json(plan)
    return {**document, "digest": digest(document)}


@dataclass(frozen=True, slots=True)
class PlanFile:
    """A plan file that was found right."""

    plan: Plan
    document: dict[str, Any]
    """What it says, with a digest that fits."""
    found: bytes
    """What is in it."""


def check_file(path: str, *, digest_must_fit: bool = True) -> PlanFile:
    """Read a plan file. Its digest may be wrong or missing where it is to be renewed, after an edit by hand.

    Raises DocumentError like ``read_plan``.
    """

    def faults(value: Any) -> Iterator[Fault]:
        if digest_must_fit or not isinstance(value, dict):
            yield from _content_faults(value)
            yield from _digest_faults(value, _how_to_renew(path))
        else:
            value["digest"] = digest(value)
            yield from _content_faults(value)

    found = read_file(path, MAX_BYTES)
    document = parse_json(found, path, faults)
    return PlanFile(plan_from_json(document), document, found)


def _content_faults(value: Any) -> Iterator[Fault]:
    """Everything that can be wrong, but for a digest that does not fit."""
    version = value.get("schemaVersion") if isinstance(value, dict) else None
    if is_integer(version) and version != SCHEMA_VERSION:
        # What its other keys mean is not known here.
        problem = (
            f"this plan has schema version {version}, and this version of kafkaops.recovery reads {SCHEMA_VERSION}"
        )
        yield Fault("/schemaVersion", problem, "Upgrade kafkaops.recovery, or make the plan again with this version")
        return
    yield from schema_faults(value, PLAN_FILE)
    if isinstance(value, dict):
        yield from consistency_faults(value)


def _digest_faults(value: Any, remedy: str) -> Iterator[Fault]:
    is_plan = isinstance(value, dict) and value.get("schemaVersion") == SCHEMA_VERSION
    if is_plan and _is_digest(value.get("digest")) and value["digest"] != digest(value):
        yield Fault("/digest", "the plan was changed after its digest was made", remedy)


_is_digest = screen(DIGEST)


def _how_to_renew(path: str) -> str:
    options = shlex.quote(json.dumps({"path": path, "state": "digest_renewed"}))
    return (
        "If the change is not yours, make the plan again. If it is, look it over and renew the digest: "
        f"ansible localhost -m kafkaops.recovery.recovery_plan -a {options}"
    )
