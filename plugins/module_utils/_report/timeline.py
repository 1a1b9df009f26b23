# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Build the timeline of an incident from the times in its documents."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from .._model.reasons import plural
from .._recovery.outcome import Outcome
from .blocks import Cell, ReportTable, Section, format_ids
from .groups_section import build_groups_plan_verdict, build_groups_verdict
from .outage_blocks import build_past_blocks, find_past_events
from .redundancy_section import build_redundancy_plan_verdict, build_redundancy_verdict
from .sources import Approval, DocumentKind, Source

_METADATA_LOG = "the controllers' metadata log"
_ABOUT_LEADERS = frozenset({DocumentKind.RECOVERY, DocumentKind.PLAN, DocumentKind.SURVEY, DocumentKind.EVIDENCE})


@dataclass(frozen=True, slots=True)
class _Event:
    at: str
    what: str
    actor: str


def build_timeline_sections(
    sources: Sequence[Source], approvals: Sequence[Approval], outcomes: Sequence[Outcome]
) -> Iterator[Section]:
    """Build the section with what happened when, and what was done by whom; none if no document has a time.

    It begins before the first run, as far as the controllers' metadata log was read.
    """
    done = [*_find_events(sources), *(_Event(each.at, each.what, each.by) for each in approvals)]
    past = [_Event(at, what, _METADATA_LOG) for at, what in find_past_events(outcomes)]
    if not done:
        return
    events = sorted([*past, *done], key=lambda each: each.at)
    rows = tuple((Cell(each.at), Cell(each.what), Cell(each.actor)) for each in events)
    table = ReportTable("Times are UTC", ("Time", "Event", "By"), rows)
    about_leaders = any(each.kind in _ABOUT_LEADERS for each in sources)
    blocks = build_past_blocks(outcomes, min(each.at for each in done)) if about_leaders else ()
    yield Section("Timeline", (table, *blocks))


def _find_events(sources: Sequence[Source]) -> Iterator[_Event]:  # noqa: PLR0912 - one case for each kind
    for source in sources:
        content = source.content
        match source.kind:
            case DocumentKind.EVIDENCE:
                yield _Event(content.gathered_at, "replicas asked what they hold", "leader_candidate_info")
            case DocumentKind.SURVEY:
                what = f"looked: {plural(len(content['partitions']), 'partition', 'have')} no leader"
                yield _Event(content["looked_at"], what, "offline_partition_info")
            case DocumentKind.PLAN:
                yield _Event(
                    content.created_at, f"{plural(len(content.elections), 'election')} planned", "leader_candidate_info"
                )
            case DocumentKind.RECOVERY:
                is_check = content["mode"] == "check"
                yield _Event(content["startedAt"], "check began" if is_check else "recovery began", "unclean_recovery")
                counts = ", ".join(f"{n:,} {name.replace('_', ' ')}" for name, n in content["summary"].items() if n)
                yield _Event(content["finishedAt"], f"{counts or 'nothing was offline'}; verified", "unclean_recovery")
            case DocumentKind.LEADERSHIP:
                yield _Event(content["startedAt"], "change of replica orders began", "leadership_drain")
                yield _Event(content["finishedAt"], "replica orders and leaders verified", "leadership_drain")
            case DocumentKind.CLEANER:
                what = "log cleaners inspected" if content["isCheck"] else "log cleaners inspected and repaired"
                yield _Event(content["writtenAt"], what, "log_cleaner_recovery")
            case DocumentKind.QUORUM:
                yield _Event(content["startedAt"], "controller quorum inspected", "quorum_preflight")
            case DocumentKind.READINESS:
                yield _Event(content["startedAt"], "readiness for a recovery checked", "readiness")
            case DocumentKind.STOP_GATE:
                ids = "; then ".join(format_ids(each["brokers"]) for each in content["stops"])
                yield _Event(content["startedAt"], f"may brokers {ids} stop? {content['verdict']}", "stop_gate")
            case DocumentKind.REDUNDANCY_PLAN:
                yield _Event(content["createdAt"], build_redundancy_plan_verdict(content)[0], "redundancy")
            case DocumentKind.REDUNDANCY:
                yield _Event(content["finishedAt"], build_redundancy_verdict(content)[0], "redundancy")
            case DocumentKind.GROUPS_PLAN:
                yield _Event(content["createdAt"], build_groups_plan_verdict(content)[0], "group_recovery")
            case DocumentKind.GROUPS:
                yield _Event(content["finishedAt"], build_groups_verdict(content)[0], "group_recovery")
            case DocumentKind.MANIFEST:
                records = sum(each["records"] for each in content["partitions"])
                yield _Event(content["takenAt"], f"{plural(records, 'record')} saved", "salvage")
            case DocumentKind.DISK_SALVAGE:
                what = f"disks of broker {content['brokerId']} compared with the leaders"
                yield _Event(content["finishedAt"], what, "log_salvage")
            case DocumentKind.REPLAY:
                given = sum(each["given"] for each in content["partitions"])
                yield _Event(content["finishedAt"], f"{plural(given, 'record')} given back", "salvage_replay")
