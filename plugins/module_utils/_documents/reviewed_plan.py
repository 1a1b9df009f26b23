# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Write and read the file of a plan that one run makes, a person reviews, and another run carries out.

The file has a digest of its content, so that a plan that was changed after its review is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Any, Generic, Protocol, TypeVar

from .dataclass_json import Codec, Schema
from .errors import DocumentError, Problem, raise_if_problems, show_value
from .files import MIB, digest, format_document, read_file, write_new_file
from .strict_json import parse_json
from .validation import schema_problems

_MAX_BYTES = 256 * MIB


class OfCluster(Protocol):
    """A plan for one cluster."""

    @property
    def cluster_id(self) -> str: ...


PlanT = TypeVar("PlanT", bound=OfCluster)


@dataclass(frozen=True, slots=True)
class ReviewedPlan(Generic[PlanT]):
    """The file of one kind of plan."""

    codec: Codec[PlanT]
    schema: Schema
    """The schema of the file, that is, of a plan with its digest."""
    find_problems: Callable[[dict[str, Any]], Iterable[Problem]]
    """Find what is wrong in content that meets the schema, besides the digest."""

    def document(self, plan: PlanT) -> dict[str, Any]:
        """Return the content of the plan's file, digest included."""
        content = self.codec.encode(plan)
        return {**content, "digest": digest(content)}

    def write(self, plan: PlanT, path: str) -> str:
        """Write a plan to a new file with mode 0600, and return its digest. Raises DocumentError."""
        content = self.document(plan)
        raise_if_problems(path, schema_problems(content, self.schema))
        write_new_file(path, format_document(content))
        return str(content["digest"])

    def read(self, path: str, approved: str | None = None) -> PlanT:
        """Read a plan. If a digest was approved, the plan must have it.

        Raises DocumentError with every problem of the file, such as a digest that does not match its content.
        """

        def problems(value: Any) -> Iterator[Problem]:
            against = schema_problems(value, self.schema)
            yield from against
            if not against:
                yield from chain(_digest_problems(value, approved), self.find_problems(value))

        return self.codec.decode(parse_json(read_file(path, _MAX_BYTES, must_be_protected=True), path, problems))


def _digest_problems(value: dict[str, Any], approved: str | None) -> Iterator[Problem]:
    if value["digest"] != digest(value):
        yield Problem("/digest", "the plan was changed after its digest was made", "Make the plan again")
    yield from find_unapproved(value["digest"], approved)


def find_unapproved(found: str, approved: str | None) -> Iterator[Problem]:
    """Yield the problem of a plan with another digest than the approved one, if one was approved."""
    if approved is not None and approved.strip() != found:
        message = f"this plan has the digest {found}, and {show_value(approved)} was approved"
        yield Problem("/digest", message, "Carry out the approved plan, or have this one approved")


def require_own_cluster(plan: OfCluster, cluster_id: str, path: str) -> None:
    """Raise DocumentError if the plan in the file is of another cluster."""
    if plan.cluster_id != cluster_id:
        message = f"is {plan.cluster_id}, but this is cluster {cluster_id}"
        raise DocumentError(path, [Problem("/clusterId", message, "Give the plan of this cluster")])
