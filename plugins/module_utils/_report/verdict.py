# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The sentence that a page begins with."""

from __future__ import annotations

from collections.abc import Sequence

from .._recovery.plan import Outcome
from .readiness_section import readiness_verdict
from .recovery_sections import recovery_verdict
from .salvage_runs import disk_verdict, replay_verdict
from .sources import Kind, Source


def verdict_of(sources: Sequence[Source], outcomes: Sequence[Outcome], first: int | None) -> tuple[str, str]:
    """Return the sentence that the page begins with, and its tone: of the recovery, or else of the first document.

    ``first`` is the broker to start first, where a document says so.
    """
    if outcomes:
        statuses = {each.status.value for each in outcomes}
        tone = "good" if statuses <= {"recovered", "already_online"} else "bad" if "failed" in statuses else "warning"
        return recovery_verdict(outcomes, first), tone
    for source in sources:
        content = source.content
        match source.kind:
            case Kind.RECOVERY:
                return "No partition is offline.", "good"
            case Kind.SURVEY:
                count = len(content["partitions"])
                start = "" if first is None else f"; broker {first} should be started first"
                offline = "1 partition has" if count == 1 else f"{count:,} partitions have"
                return f"{offline} no leader{start}.", "bad" if count else "good"
            case Kind.QUORUM:
                allowed = content["verdicts"]["elections"]["allowed"]
                return f"Elections {'may' if allowed else 'must not'} be asked for.", "good" if allowed else "bad"
            case Kind.CLEANER:
                well = [each["diagnosis"] in ("healthy", "idle") for each in content["after"]]
                return f"{sum(well)} of {len(well)} log cleaners are healthy or idle.", "good" if all(well) else "bad"
            case Kind.LEADERSHIP:
                bad = sum(each["status"] in ("failed", "conflict") for each in content["orders"])
                return f"{bad:,} replica orders are not as wanted.", "bad" if bad else "good"
            case Kind.READINESS:
                return readiness_verdict(content)
            case Kind.DISK_SALVAGE:
                return disk_verdict(content)
            case Kind.REPLAY:
                return replay_verdict(content)
            case Kind.MANIFEST:
                return f"{sum(each['records'] for each in content['partitions']):,} records were saved.", "good"
            case Kind.EVIDENCE:
                return f"Evidence of {len(content.partitions):,} partitions; nothing was decided.", "warning"
    return "There is nothing to report.", "good"
