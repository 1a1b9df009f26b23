# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Write and read plans, as a file, or as data for the next job. A plan holds no secret.

A plan file can be reviewed and edited, and carried out by another run. Its format is a superset of the KIP's
``{"partitions": [{"topic", "partition", "designatedLeader"}]}`` (KAFKA-20098), so that the KIP's elect tool can read
it. Schema: docs/schemas/plan-file.schema.json.

As data, for ``set_stats`` or a variable, a plan is JSON in one string. It cannot be a mapping: AWX writes the strings
of extra variables as ``!unsafe``, which changes a quoted string that looks like a time or a number into one. The JSON
is compressed if it is longer than ``PLAIN_BYTES``. It is also compressed if Ansible could take it for a template,
because extra variables are templated, and a plan quotes the answers of brokers.
"""

from __future__ import annotations

import base64
import binascii
import re
import shlex
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Any

from .._documents.dataclass_json import codec, document, with_digest
from .._documents.errors import DocumentError, Problem, raise_if_problems
from .._documents.files import MIB, canonical_pieces, digest, format_pieces, read_file, write_new_file
from .._documents.reviewed_plan import find_unapproved
from .._documents.screen import is_integer
from .._documents.strict_json import parse_json
from .._documents.validation import schema_problems
from .._model.fields import DIGEST_PATTERN, SCHEMA_VERSION
from .._model.variable import set_variable
from .plan import Plan, PlannedElection
from .plan_consistency import find_consistency_problems, renew_plan

MAX_BYTES = 1024 * MIB
"""100,000 elections with three candidates each take some 400 MiB."""


_PLAN = codec(Plan)
PLAN_FILE = document("plan-file", "What one run intends", with_digest(Plan, "a plan file is an object"))


def write_plan(plan: Plan, path: str, *, max_bytes: int = MAX_BYTES) -> dict[str, Any]:
    """Write a plan file, mode 0600, and return its content. Equal plans make equal bytes.

    Raises DocumentError if the file exists or cannot be written, if it would take more than ``max_bytes`` bytes, or if
    ``read_plan`` would refuse the plan.
    """
    document = plan_document(plan)
    raise_if_problems(path, _find_content_problems(document))
    write_new_file(path, _at_most(max_bytes, format_pieces(document), path))
    return document


def _at_most(max_bytes: int, pieces: Iterable[bytes], path: str) -> Iterator[bytes]:
    """Yield the pieces. Raises DocumentError if they have more bytes than this."""
    size = 0
    for each in pieces:
        size += len(each)
        if size > max_bytes:
            message = f"it takes more than {max_bytes:,} bytes"
            raise DocumentError(path, [Problem("", message, "Plan for fewer partitions at a time")])
        yield each


def plan_document(plan: Plan) -> dict[str, Any]:
    """Return the content of the plan's file, digest included. ``check_plan`` accepts it."""
    document = _PLAN.encode(plan)
    return {**document, "digest": digest(document)}


def read_plan(path: str) -> Plan:
    """Read the plan in a file of at most ``MAX_BYTES`` bytes.

    Raises DocumentError with every problem in the file, such as a digest that does not match its content.
    """
    return check_file(path).plan


def check_plan(value: Any, place: str = "plan") -> Plan:
    """Return the plan in a value that did not come from a file. ``place`` names the value in errors.

    Raises DocumentError with every problem in the value, as ``read_plan`` does.
    """
    raise_if_problems(
        place, chain(_find_content_problems(value), _find_digest_problems(value, "Give the plan as it was made"))
    )
    return _PLAN.decode(value)


@dataclass(frozen=True, slots=True)
class PlanFile:
    """A valid plan file."""

    plan: Plan
    document: dict[str, Any]
    """The content of the file, with a digest that matches."""
    found: bytes
    """The bytes of the file."""


def check_file(path: str, *, digest_must_fit: bool = True) -> PlanFile:
    """Read a plan file.

    Without ``digest_must_fit``, the digest may be wrong or missing, because a person edited the file. Then the
    elections are decided again like new ones, and the document has the new reasons and forecasts.

    Raises DocumentError like ``read_plan``.
    """

    def problems(value: Any) -> Iterator[Problem]:
        if isinstance(value, dict) and value.keys() == {"partitions"}:
            yield _NO_PLAN
        elif digest_must_fit or not isinstance(value, dict):
            yield from _find_content_problems(value)
            yield from _find_digest_problems(value, _how_to_renew(path))
        else:
            value["digest"] = digest(value)
            yield from _find_content_problems(value)

    found = read_file(path, MAX_BYTES, must_be_protected=True)
    document = parse_json(found, path, problems)
    plan = _PLAN.decode(document)
    if not digest_must_fit:
        plan, against = renew_plan(plan)
        raise_if_problems(path, against)
        document = plan_document(plan)
    return PlanFile(plan, document, found)


_NO_PLAN = Problem(
    "",
    "it has partitions and nothing else: it designates leaders, and is no plan",
    "Give it as unclean_recovery_designations_file (designations_file of leader_candidate_info), which compares the "
    "replicas first",
)


def _find_content_problems(value: Any) -> Iterator[Problem]:
    """Yield every problem in a plan, except a digest that does not match."""
    version = value.get("schemaVersion") if isinstance(value, dict) else None
    if is_integer(version) and version != SCHEMA_VERSION:
        # The meaning of other keys is unknown in another schema version.
        message = (
            f"this plan has schema version {version}, and this version of kafkaops.recovery reads {SCHEMA_VERSION}"
        )
        yield Problem("/schemaVersion", message, "Upgrade kafkaops.recovery, or make the plan again with this version")
        return
    problems = schema_problems(value, PLAN_FILE)
    yield from problems
    if isinstance(value, dict):
        yield from find_consistency_problems(value, all_meet_schema=not problems)


def _find_digest_problems(value: Any, remedy: str) -> Iterator[Problem]:
    is_plan = isinstance(value, dict) and value.get("schemaVersion") == SCHEMA_VERSION
    found = value.get("digest") if is_plan else None
    if isinstance(found, str) and re.fullmatch(DIGEST_PATTERN, found) and found != digest(value):
        yield Problem("/digest", "the plan was changed after its digest was made", remedy)


def _how_to_renew(path: str) -> str:
    given = set_variable("unclean_recovery_plan_file", path)
    renew = shlex.join(["ansible-playbook", "kafkaops.recovery.renew_plan_digest", *given])
    return f"If the change is not yours, make the plan again. If it is, check it and renew the digest: {renew}"


def require_digest(plan: Plan, approved: str | None, place: str) -> Plan:
    """Return the plan if it has the approved digest, or if ``approved`` is None.

    Raises DocumentError for another plan.
    """
    if approved is not None:
        raise_if_problems(place, find_unapproved(plan_document(plan)["digest"], approved))
    return plan


def require_limits(plan: Plan, lost_records: int | None, estimated_loss: int | None, place: str) -> Plan:
    """Return the plan if every election was planned with these limits, or with lower ones. None for no limit.

    Raises DocumentError with every election that has a higher limit or none.
    """
    raise_if_problems(
        place,
        [
            *_find_higher_limits(plan, lost_records, "maxLostRecords", "lost records", lambda e: e.max_lost_records),
            *_find_higher_limits(
                plan, estimated_loss, "maxEstimatedLoss", "records of the estimate", lambda e: e.max_estimated_loss
            ),
        ],
    )
    return plan


def _find_higher_limits(
    plan: Plan, limit: int | None, key: str, what: str, planned_with: Callable[[PlannedElection], int | None]
) -> Iterator[Problem]:
    for number, election in enumerate(plan.elections if limit is not None else ()):
        planned = planned_with(election)
        if limit is not None and (planned is None or planned > limit):
            made = "without a limit" if planned is None else f"with a limit of {planned:,} {what}"
            message = f"{election.topic_partition} was planned {made}, and the limit is {limit:,}"
            yield Problem(f"/partitions/{number}/{key}", message, "Make the plan again with this limit")


PLAIN_BYTES = 64 * 1024
PACKED_BYTES = MIB
"""The greatest size of a compressed plan in base64. AWX keeps artifacts in its database, and passes them to every later
node."""
_COMPRESSED_BYTES = PACKED_BYTES * 3 // 4
"""So many bytes are ``PACKED_BYTES`` in base64."""

PLAIN, COMPRESSED = "json", "zlib+base64"

_TEMPLATE_MARKS = (b"{{", b"{%", b"{#")

_AGAIN = "Pass the published plan on unchanged, or make it again"


def pack(document: dict[str, Any]) -> dict[str, Any]:
    """Return a plan's document as ``{"encoding", "digest", "data"}``.

    Raises DocumentError as soon as it is known to take more than ``PACKED_BYTES``: a plan may have hundreds of MB.
    """
    compressor, plain, packed = zlib.compressobj(9), bytearray(), bytearray()
    for piece in canonical_pieces(document):
        data = piece.encode()
        packed += compressor.compress(data)
        if len(plain) <= PLAIN_BYTES:
            plain += data
        elif len(packed) > _COMPRESSED_BYTES:
            break
    packed += compressor.flush()
    if len(plain) <= PLAIN_BYTES and not any(mark in plain for mark in _TEMPLATE_MARKS):
        return {"encoding": PLAIN, "digest": document["digest"], "data": plain.decode()}
    if len(packed) > _COMPRESSED_BYTES:
        message = f"it takes more than {PACKED_BYTES:,} bytes compressed, the most that is published"
        remedy = "Write it to a file that both jobs reach (plan_file), or plan for fewer partitions at a time"
        raise DocumentError("plan", [Problem("", message, remedy)])
    return {"encoding": COMPRESSED, "digest": document["digest"], "data": base64.b64encode(packed).decode()}


def unpack(value: Any, *, max_bytes: int = MAX_BYTES) -> Any:
    """Return the document of a plan that may be packed. Its content is not checked.

    Raises DocumentError if a packed plan cannot be read, or has more than ``max_bytes`` bytes, the most of a plan file.
    """
    if not isinstance(value, dict) or "encoding" not in value:
        return value
    if value["encoding"] not in (PLAIN, COMPRESSED) or not isinstance(value.get("data"), str):
        message = f"a published plan has the encoding {PLAIN} or {COMPRESSED}, and its data as a string"
        raise DocumentError("plan", [Problem("/encoding", message, "Pass the published plan on unchanged")])
    if value["encoding"] == PLAIN:
        return parse_json(value["data"].encode(), "plan", lambda _value: ())
    decompressor = zlib.decompressobj()
    try:
        data = decompressor.decompress(base64.b64decode(value["data"], validate=True), max_bytes)
    except (binascii.Error, ValueError, zlib.error) as error:
        raise DocumentError("plan", [Problem("/data", f"it cannot be read: {error}", _AGAIN)]) from error
    if decompressor.unconsumed_tail or not decompressor.eof:
        message = f"it is cut, or holds more than {max_bytes:,} bytes"
        raise DocumentError("plan", [Problem("/data", message, _AGAIN)])
    return parse_json(data, "plan", lambda _value: ())
