# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""How elections ended, as designated_election returns it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import islice

from ansible_collections.kafkaops.recovery.plugins.module_utils.glue.telling import line, listed
from ansible_collections.kafkaops.recovery.plugins.module_utils.model.partition import NO_LEADER, TopicPartition
from ansible_collections.kafkaops.recovery.plugins.module_utils.operations.designated_election import ElectionReport
from ansible_collections.kafkaops.recovery.plugins.module_utils.operations.leftovers import Leftover, Undoing
from ansible_collections.kafkaops.recovery.plugins.module_utils.recovery.outcome import Outcome
from ansible_collections.kafkaops.recovery.plugins.module_utils.recovery.plan import DONE, DONE_OR_FORESEEN, Status


def failure_message(report: ElectionReport, *, check_mode: bool) -> str | None:
    """What was not done and why, for a person; None when everything was, or, in check mode, would be."""
    accepted = DONE_OR_FORESEEN if check_mode else DONE
    not_done = [each for each in report.outcomes if each.status not in accepted]
    lines = [line(each) for each in not_done]
    stuck = [each for each in report.leftovers if each.undoing is Undoing.FAILED]
    lines += [f"{each.change.topic_partition}: an earlier run's order stays: {each.reason}" for each in stuck]
    if not lines:
        return None
    head = (
        f"{len(not_done)} of {len(report.outcomes)} partitions {'would not be' if check_mode else 'were not'} recovered"
    )
    return listed(head, lines)


def warnings(leftovers: Collection[Leftover]) -> list[str]:
    """What a person should know of orders that an earlier run left, and that nobody puts back any more."""
    return [
        f"{each.change.topic_partition}: an earlier run's replica order is not put back: {each.reason}"
        for each in leftovers
        if each.undoing in (Undoing.CONFLICT, Undoing.GONE)
    ]


def diff_of(report: ElectionReport, max_rows: int) -> dict[str, str]:
    """Leader and replica order, before and after, of the partitions where they differ."""
    changes = [*_restored(report.leftovers), *_elected(report.outcomes)]
    rest = f"... and {len(changes) - max_rows} more\n" if len(changes) > max_rows else ""
    shown = [*islice(changes, max_rows)]
    return {
        "before_header": "leader and replicas",
        "after_header": "leader and replicas",
        "before": "".join(f"{partition}: {before}\n" for partition, before, _after in shown) + rest,
        "after": "".join(f"{partition}: {after}\n" for partition, _before, after in shown) + rest,
    }


_Change = tuple[TopicPartition, str, str]


def _restored(leftovers: Collection[Leftover]) -> list[_Change]:
    return [
        (each.change.topic_partition, f"replicas {_ids(each.change.changed)}", f"replicas {_ids(each.change.original)}")
        for each in leftovers
        if each.undoing in (Undoing.RESTORED, Undoing.WOULD_RESTORE)
    ]


def _elected(outcomes: Collection[Outcome]) -> list[_Change]:
    described = [
        (
            each.topic_partition,
            _state(each.leader_before, each.replicas),
            _state(
                each.designated_leader if each.status is Status.WOULD_RECOVER else each.leader_after,
                each.replicas_after if each.replicas_after is not None else each.replicas,
            ),
        )
        for each in outcomes
        if each.designated_leader is not None
    ]
    return [change for change in described if change[1] != change[2]]


def _state(leader_id: int | None, replicas: Sequence[int]) -> str:
    leader = {None: "leader unknown", NO_LEADER: "no leader"}.get(leader_id, f"leader {leader_id}")
    return f"{leader}, replicas {_ids(replicas)}"


def _ids(replicas: Sequence[int]) -> str:
    return ",".join(map(str, replicas))
