# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Build the part of a page about one cluster. Nothing of it may depend on documents of another cluster.

Two clusters may have topics, brokers and offsets of the same names.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from .._model.partition import TopicPartition
from .._model.reasons import plural
from .._recovery.next_way import describe_first
from .._recovery.outcome import Outcome, outcomes_of_plan
from .._salvage.account import Balance, sum_balances
from .._salvage.manifest import MANIFEST
from .blocks import Section
from .exposure_section import build_exposure_sections
from .groups_section import build_groups_section
from .incident import merge_aftermath, merge_outcomes
from .next_section import Situation, build_next_section
from .recovery_sections import build_recovery_sections, build_recovery_verdict, judge_recovery, read_outcomes
from .redundancy_section import build_redundancy_section
from .salvage_runs import build_disk_section, build_replay_section
from .salvage_section import build_account_section, build_account_verdict, compute_balances, find_saved_ranges
from .sections import (
    build_cleaner_section,
    build_evidence_section,
    build_leadership_section,
    build_quorum_section,
    build_readiness_section,
    build_survey_section,
)
from .sources import SALVAGE_KINDS, Approval, DocumentKind, Skipped, Source
from .stop_gate_section import build_gate_section
from .timeline import build_timeline_sections
from .verdicts import judge_documents, time_of


@dataclass(frozen=True, slots=True)
class ClusterPart:
    """What the documents of one cluster say together."""

    verdict: str
    tone: str
    outcomes: tuple[Outcome, ...]
    sections: tuple[Section, ...]
    next: Section


def build_part(sources: Sequence[Source], approvals: Sequence[Approval], damaged: Sequence[Skipped]) -> ClusterPart:
    """Build the part of one cluster. The next steps name the ``damaged`` files, of which the cluster is unknown."""
    looks = sorted((each for each in sources if each.kind in (DocumentKind.PLAN, DocumentKind.RECOVERY)), key=time_of)
    incident = merge_outcomes(map(_outcomes_of, looks))
    reports = [each.content for each in looks if each.kind is DocumentKind.RECOVERY]
    brokers: Sequence[dict[str, Any]] = next((each["brokers"] for each in reversed(reports) if each["brokers"]), [])
    aftermath = merge_aftermath(each["aftermath"] for each in reports)
    surveys = sorted(_of_kind(sources, DocumentKind.SURVEY), key=time_of)
    offline = _count_offline(surveys, looks)
    advised = (each.content["start_order"] for each in reversed(surveys))
    start_order: Sequence[dict[str, Any]] = next(filter(None, advised), [])
    salvaged = {kind: [each.content for each in _of_kind(sources, kind)] for kind in SALVAGE_KINDS}
    main: list[Section] = []
    if looks and (incident.outcomes or reports):
        saved = find_saved_ranges(salvaged[DocumentKind.MANIFEST], salvaged[DocumentKind.DISK_SALVAGE])
        main += build_recovery_sections(incident, brokers, aftermath, saved)
    account, is_settled, balances = "", False, {}
    if any(salvaged.values()):
        elections = (*incident.earlier, *incident.outcomes)
        balances = compute_balances(elections, *salvaged.values())
        account, is_settled = build_account_verdict(elections, balances, salvaged[DocumentKind.DISK_SALVAGE])
        main.append(build_account_section(balances))
    situation = Situation(
        kinds=frozenset(each.kind for each in sources),
        outcomes=incident.outcomes,
        is_offline=offline > 0,
        brokers=brokers or [_as_in_reports(each) for survey in surveys[-1:] for each in survey.content["brokers"]],
        start_order=start_order,
        aftermath=aftermath,
        plan_file=os.path.abspath(looks[-1].path) if looks and looks[-1].kind is DocumentKind.PLAN else None,
        saved_in=_list_unreplayed(sources, balances),
        damaged=damaged,
    )
    first = describe_first(situation.returns) if start_order else ""
    if incident.outcomes:
        verdict = build_recovery_verdict(incident, first, account)
        tone = judge_recovery(incident, is_settled=is_settled if account else None)
        if offline:
            verdict += (
                f" {plural(offline, 'other partition')} had no leader in a saved look, and no later plan or run names "
                f"{'it' if offline == 1 else 'them'}."
            )
            tone = "warning" if tone == "good" else tone
    else:
        verdict, tone = judge_documents(sources, first)
    return ClusterPart(
        verdict,
        tone,
        incident.outcomes,
        tuple(
            chain(
                build_timeline_sections(sources, approvals, (*incident.outcomes, *incident.earlier)),
                main,
                chain.from_iterable(_build_other_sections(each) for each in sources),
            )
        ),
        build_next_section(situation),
    )


def _as_in_reports(broker: Mapping[str, Any]) -> dict[str, Any]:
    """Return a survey's broker, which has names in snake_case, with the names of reports."""
    return {re.sub("_([a-z])", lambda match: match[1].upper(), name): value for name, value in broker.items()}


def _outcomes_of(look: Source) -> Sequence[Outcome]:
    return outcomes_of_plan(look.content) if look.kind is DocumentKind.PLAN else read_outcomes(look.content)


def _count_offline(surveys: Sequence[Source], looks: Sequence[Source]) -> int:
    """Return how many partitions of the last survey no plan or run since then names."""
    if not surveys:
        return 0
    offline = {TopicPartition(each["topic"], each["partition"]) for each in surveys[-1].content["partitions"]}
    for look in looks:
        if time_of(look) > time_of(surveys[-1]):
            named = {each.topic_partition for each in _outcomes_of(look)}
            # One that found nothing to do looked at all partitions.
            offline = offline - named if named else set()
    return len(offline)


def _list_unreplayed(sources: Sequence[Source], balances: Mapping[TopicPartition, Balance]) -> list[str]:
    """Return the directories of salvages if records are still lost that they have."""
    if not sum_balances(balances.values()).at_hand:
        return []
    manifests = [os.path.abspath(each.path) for each in _of_kind(sources, DocumentKind.MANIFEST)]
    return [os.path.dirname(each) for each in manifests if os.path.basename(each) == MANIFEST]


def _of_kind(sources: Sequence[Source], kind: DocumentKind) -> list[Source]:
    return [each for each in sources if each.kind is kind]


def _build_other_sections(source: Source) -> Iterator[Section]:
    sections: dict[DocumentKind, Callable[[Any], Section]] = {
        DocumentKind.QUORUM: build_quorum_section,
        DocumentKind.CLEANER: build_cleaner_section,
        DocumentKind.LEADERSHIP: build_leadership_section,
        DocumentKind.SURVEY: build_survey_section,
        DocumentKind.READINESS: build_readiness_section,
        DocumentKind.STOP_GATE: build_gate_section,
        DocumentKind.REDUNDANCY: build_redundancy_section,
        DocumentKind.GROUPS: build_groups_section,
        DocumentKind.DISK_SALVAGE: build_disk_section,
        DocumentKind.REPLAY: build_replay_section,
        DocumentKind.EVIDENCE: build_evidence_section,
    }
    if source.kind is DocumentKind.EXPOSURE:
        yield from build_exposure_sections(source.content)
    if source.kind in sections:
        yield sections[source.kind](source.content)
