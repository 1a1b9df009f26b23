# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Say in words what was found and what is planned, one line for each fact. Pure; standard library only."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from .._model.reasons import join_first, name_brokers, plural
from .beyond import Beyond, Overtaken, brokers_to_start_last, newest_overtaken
from .copy import Contents, LogCopy
from .plan import QuorumDecision, QuorumPlan
from .report import Verified

_MOST_LINES = 20


def describe(copies: Sequence[LogCopy], decision: QuorumDecision) -> list[str]:
    """Return what a person reads before the decision."""
    lines = [_copy(each) for each in copies]
    lines += [f"Note: {each}" for each in decision.notes]
    for each in decision.beyond:
        lines += _beyond(each)
    lines += _about_overtaken(newest_overtaken(decision.beyond))
    lines += [f"Refused: {each}" for each in (*decision.refusals, *decision.absent)]
    if decision.plan is not None:
        lines += _plan(decision.plan)
        lines += [f"Before that, stop {each}." for each in decision.must_stop]
    return lines


def _copy(copy: LogCopy) -> str:
    who = f"{copy.host}: node {'unknown' if copy.node_id is None else copy.node_id}"
    if copy.log_end_offset is None:
        return f"{who}: {copy.state}: {copy.reason}"
    running = "runs" if copy.is_running else f"stopped {'cleanly' if copy.stopped_cleanly else 'uncleanly'}"
    state = f"{copy.state}, offsets {copy.log_start_offset} to {copy.log_end_offset} (exclusive), last epoch "
    snapshot = f", snapshot at {copy.snapshot.end_offset}" if copy.snapshot else ""
    kind = "broker's copy, " if not copy.is_controller else ""
    return f"{who}: {kind}{state}{copy.last_epoch}{snapshot}, {running}"


def _beyond(beyond: Beyond) -> Iterator[str]:
    kind = "controller" if beyond.is_controller else "broker"
    hidden = f" ({beyond.records_in_snapshot} only in its snapshot)" if beyond.records_in_snapshot else ""
    records = plural(beyond.records, "record")
    yield f"Forgotten: {records} that only {kind} {beyond.node_id} on {beyond.host} holds{hidden}:"
    yield from (f"  {each}" for each in beyond.says[:_MOST_LINES])
    if len(beyond.says) > _MOST_LINES:
        yield f"  and {len(beyond.says) - _MOST_LINES} more"
    if not beyond.is_controller:
        yield (
            f"  Once the recovered controller leads: stop broker {beyond.node_id}, remove its directory "
            "__cluster_metadata-0, and start it. It copies the log again. With its own copy, it ends itself."
        )


def _about_overtaken(overtaken: Sequence[Overtaken]) -> Iterator[str]:
    """Yield which brokers start last, and which partitions no order of starts helps."""
    last = brokers_to_start_last(overtaken)
    if not last:
        return
    for each in overtaken:
        yield (
            f"Overtaken: {join_first(each.partitions)}: the log that goes on has {name_brokers(each.stale)} in sync. "
            f"By what is forgotten, all records are only on {name_brokers(each.in_sync)}."
        )
    yield (
        f"Start {name_brokers(last)} last, when others lead these partitions: Kafka may elect an overtaken replica, "
        "and then all others delete what it lacks. If one of the partitions has no leader before that, recover it with "
        "kafkaops.recovery.recover_offline_partitions, unclean_recovery_partitions_file and "
        f"unclean_recovery_lost_brokers={','.join(map(str, last))}."
    )
    stuck = [each for each in overtaken if {*each.in_sync} <= {*last}]
    if stuck:
        brokers = {broker for each in stuck for broker in each.in_sync}
        yield (
            f"No order of starts keeps all records of {join_first(one for each in stuck for one in each.partitions)}: "
            f"before they start, save what the disks of {name_brokers(brokers)} have and the new leaders lack, with "
            "kafkaops.recovery.salvage_logs."
        )


def _ids(ids: Sequence[int]) -> str:
    return ", ".join(map(str, ids))


def _plan(plan: QuorumPlan) -> Iterator[str]:
    yield (
        f"Plan {plan.digest}: controller {plan.node_id} on {plan.host} becomes the only voter. Voters before: "
        f"{', '.join(str(each.voter_id) for each in plan.old_voters)}. Lost: {', '.join(map(str, plan.lost_voters))}."
    )
    yield f"It keeps {describe_contents(plan.contents)}."
    if plan.voter is not None:
        yield f"Change: a VotersRecord at offset {plan.end_offset} in {plan.segment}"
    yield from (f"Change: {each} is removed. The backup has it." for each in plan.snapshots_to_remove)
    for each in plan.voters_changes:
        yield f"Change: controller.quorum.voters in {each.path} on {each.host}: {each.before} -> {each.after}"
    lost = " and ".join(map(str, plan.lost_voters))
    if plan.lost_brokers:
        yield (
            f"Brokers too: {_ids(plan.lost_brokers)}. A quorum does not bring their replicas back. If their log "
            "directories (log.dirs) are lost as well, the partitions without another replica in sync have no leader "
            "after it: recover them before these brokers start with empty disks."
        )
    yield f"Never start {lost} with the old disks again: together they could elect a leader of their own."


def describe_contents(contents: Contents) -> str:
    """Return the counts of what a log holds."""
    return (
        f"{plural(contents.topics, 'topic')} with {plural(contents.partitions, 'partition')}, "
        f"{plural(contents.configs, 'config')}, {plural(contents.acls, 'ACL')}, "
        f"{plural(contents.scram_credentials, 'SCRAM credential')}, {plural(contents.quotas, 'quota')}, "
        f"{plural(contents.delegation_tokens, 'delegation token')}, {plural(len(contents.brokers), 'broker')}, "
        f"{', '.join(contents.features)}"
    )


def describe_verified(plan: QuorumPlan, verified: Verified) -> list[str]:
    """Return what a person reads after the recovery."""
    left = [each for each in plan.lost_voters if each not in verified.voters]
    lost = _ids(left)
    lines = [
        f"Controller {verified.leader_id} leads in epoch {verified.leader_epoch}, and has committed up to offset "
        f"{verified.high_watermark}. The log of controller {plan.node_id} has everything that it had before offset "
        f"{plan.end_offset}.",
        f"Nodes that follow it: {', '.join(map(str, verified.brokers)) or 'none'}. Brokers that it knows: "
        f"{len(plan.contents.brokers)}.",
        f"Written since: {plural(len(verified.since), 'record')} with a meaning.",
        *(f"  {each}" for each in verified.since[:_MOST_LINES]),
    ]
    if verified.backup:
        lines.append(f"The backup is {verified.backup}. Remove it when you do not need it any more.")
    ahead = [each.node_id for each in plan.forgets if not each.is_controller and each.node_id is not None]
    if ahead:
        lines.append(
            f"Now stop each broker of {_ids(ahead)}, remove its directory __cluster_metadata-0, and start it. Its copy "
            "of the log is ahead."
        )
    lines += _about_overtaken(newest_overtaken(plan.forgets))
    if gone := plan.lost_brokers:
        ids = ",".join(map(str, gone))
        lines.append(
            f"First, the partitions of brokers {_ids(gone)}, unless their log directories (log.dirs) are whole: run "
            f"kafkaops.recovery.recover_offline_partitions with unclean_recovery_lost_brokers={ids}, then "
            f"kafkaops.recovery.restore_redundancy with redundancy_lost_brokers={ids}. Until then, do not start them "
            "with empty disks: such a broker can be elected, and then all other replicas delete what they hold."
        )
    if not left:
        lines.append(f"Voters: {_ids(verified.voters)}.")
    elif plan.is_dynamic:
        lines.append(
            f"Next, format each controller of {lost} with a new disk (--no-initial-controllers), start it, and add it "
            "with kafkaops.recovery.replace_controller and controller_replacement_endpoints."
        )
    else:
        lines.append(
            f"Next, add {lost} one at a time: append the entry to controller.quorum.voters on every node, restart "
            "the controllers that run, format the disk, start the controller, and wait until it has caught up."
        )
    before = [each.voter_id for each in plan.old_voters]
    others = [each for each in before if each not in (*plan.lost_voters, *verified.voters)]
    if others:
        lines.append(f"Add {', '.join(map(str, others))} in the same way, with the old disk: it is whole.")
    return lines
