# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Read where groups and logs stand, and which committed offsets need a change. Only reads.

1. Every coordinator lists its groups with their states.
2. The coordinator of each group returns its commits. A group that only the salvage has, has a coordinator too.
3. After that, the leaders are asked about their logs (logs.py). So a commit that is made meanwhile is never taken for
   one beyond the end.
4. Of saved commits, __consumer_offsets itself says what became of them since the election (since.py).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from .._kafka.cluster import Cluster
from .._kafka.errors import BrokerCallError, RequestRefusedError
from .._kafka.group_commits import partition_of
from .._kafka.groups import Commit, GroupCommits
from .._kafka.port import Kafka
from .._kafka.settings import Address
from .._kafka.share_groups import ShareOffsets
from .._kafka.share_state import Place, ShareState
from .._model.near_names import not_found
from .._model.partition import OFFSETS_TOPIC, PartitionState, TopicPartition, grouped
from .._model.reasons import join_first, plural
from .decide import (
    CommitFields,
    PresentLog,
    Since,
    choose,
    decide_commit,
    decide_share_start,
    find_of_former_topics,
)
from .logs import LogReader
from .plan import MOST_NAMED, Choice, CommitNeed, CommitStep, UnknownCommits
from .share import IS_THERE, ShareStates, share_states
from .since import ChangeReader, SavedCommits


@dataclass(slots=True)
class GroupLook:
    """What a look found."""

    steps: list[CommitStep] = field(default_factory=list)
    """In order of group, topic and partition."""
    unknown: list[UnknownCommits] = field(default_factory=list)
    states: dict[str, str] = field(default_factory=dict)
    """The state of each group that a coordinator lists."""
    coordinators: dict[str, Address] = field(default_factory=dict)
    commits: dict[str, GroupCommits] = field(default_factory=dict)
    logs: dict[TopicPartition, PresentLog] = field(default_factory=dict)
    share: set[str] = field(default_factory=set)
    """The share groups. Their start offsets are taken for commits without leader epoch and metadata."""
    stateless: set[tuple[str, TopicPartition]] = field(default_factory=set)
    """What share groups read without a start offset."""
    since: dict[tuple[str, TopicPartition], Since] = field(default_factory=dict)
    """What was done with offsets since the election, where that is not nothing."""
    topic_ids: dict[str, str] = field(default_factory=dict)
    leaders: dict[TopicPartition, int] = field(default_factory=dict)
    """The leader of each partition that has one."""
    offline: tuple[TopicPartition, ...] = ()
    """The partitions without a leader, if all groups are looked at."""
    notes: list[str] = field(default_factory=list)

    def add(self, step: CommitStep) -> None:
        """Add a step. One that would undo what is not known is named in its place."""
        since = self.since.get((step.group, step.topic_partition))
        if since is None or since.is_known or step.choice is not Choice.LEAVE_ALONE:
            self.steps.append(step)
            return
        text = f"{step.topic_partition}: {since.what}. To set it to {step.target}, name the group in overwrite_groups"
        self.unknown.append(UnknownCommits((step.group,), text))


def look_at_groups(
    kafka: Kafka,
    cluster: Cluster,
    wanted: Collection[str] | None,
    saved: SavedCommits,
    *,
    beyond_end_time: datetime | None = None,
    overwrite: Collection[str] = (),
) -> GroupLook:
    """Look at these groups, or at all. Raises BrokerCallError or RequestRefusedError.

    ``beyond_end_time`` says where groups continue whose offset is beyond the log end, if nothing else says it.
    Groups of ``overwrite`` get their saved offsets whatever was done since the election.
    """
    found = GroupLook()
    _list_groups(kafka, cluster, found)
    described = kafka.describe_partitions().partitions
    found.topic_ids = {each.topic: each.topic_id for each in described}
    states = share_states(kafka, cluster, described)
    saved_states = states.saved(saved)
    known = {*found.states} | {group for group, _partition in saved.commits}
    names = known if wanted is None else {*wanted}
    leaders = found.leaders = {each.topic_partition: each.leader_id for each in described if not each.is_offline}
    if wanted is None:
        found.offline = tuple(sorted(each.topic_partition for each in described if each.is_offline))
        _find_unlisted(cluster, described, found)
    partitions = sum(each.topic == OFFSETS_TOPIC for each in described)
    _find_coordinators(cluster, leaders, partitions, names, found)
    _read_commits(kafka, found)
    _find_absent(names - known, known, found)
    mistyped = not_found({*overwrite} - known - names, known, "group")
    found.unknown += [UnknownCommits((each,), f"overwrite_groups: {text}") for each, text in mistyped.items()]
    _find_lost_share_groups(states, {each for each in saved_states if wanted is None or each[0] in names}, found)
    all_saved: dict[tuple[str, TopicPartition], CommitFields] = {
        **_leave_out_former_topics(saved, found),
        **_name_topics(saved_states, described, found),
    }
    answered = {group for group, each in found.commits.items() if not each.error}
    kept = {each: commit for each, commit in all_saved.items() if each[0] in answered}
    pairs = {(group, name) for group, one in found.commits.items() for name in one.commits} | found.stateless | {*kept}
    epochs = _epochs_to_ask(pairs, kept, saved, found)
    found.logs = LogReader(kafka, cluster, leaders, epochs, saved.first_lost, beyond_end_time).read()
    changes = ChangeReader(kafka, cluster, leaders, saved.commit_logs, found.logs).read()
    unanswered: dict[TopicPartition, list[str]] = {}
    for group, name in sorted(pairs):
        log = found.logs.get(name)
        if log is None:
            unanswered.setdefault(name, []).append(group)
            continue
        now, old = found.commits[group].commits.get(name), kept.get((group, name))
        if group in found.share:
            step, since = decide_share_start(group, name, now, old, log), None
            if step is not None and step.need is CommitNeed.WENT_BACK:
                place = (group, found.topic_ids[name.topic], name.partition)
                since = states.since(place, step.target, saved_states.get(place), saved.first_lost)
                step = None if since is IS_THERE else choose(step, since, overwrites=group in overwrite)
        else:
            of_group = changes.get(partition_of(group, partitions)) if changes else None
            since = (
                None if old is None or of_group is None else of_group.since(group, name, found.commits[group].commits)
            )
            step = decide_commit(group, name, now, old, log, since, overwrites=group in overwrite)
        if since is not None:
            found.since[group, name] = since
        if step is not None:
            found.add(step)
    _note_unanswered(kafka, unanswered, {each.topic for each in described}, found)
    return found


def _epochs_to_ask(
    pairs: Iterable[tuple[str, TopicPartition]],
    kept: Mapping[tuple[str, TopicPartition], CommitFields],
    saved: SavedCommits,
    found: GroupLook,
) -> dict[TopicPartition, set[int]]:
    """Return the leader epochs whose ends are needed: of commits, and of the logs that the saved ones are from."""
    epochs: dict[TopicPartition, set[int]] = {TopicPartition(OFFSETS_TOPIC, each): set() for each in saved.commit_logs}
    for number, log in saved.commit_logs.items():
        epochs[TopicPartition(OFFSETS_TOPIC, number)] |= {log.epoch} - {-1}
    for group, name in pairs:
        both = (found.commits[group].commits.get(name), kept.get((group, name)))
        epochs.setdefault(name, set()).update(each.leader_epoch for each in both if each and each.leader_epoch >= 0)
    return epochs


def _list_groups(kafka: Kafka, cluster: Cluster, found: GroupLook) -> None:
    def ask(broker_id: int) -> tuple[dict[str, str], dict[str, str]] | str:
        address = cluster.unfenced[broker_id]
        try:
            return kafka.group_states(address), kafka.share_group_states(address)
        except RequestRefusedError as error:
            return str(error)

    for broker_id, answer in kafka.in_parallel(ask, cluster.unfenced).items():
        if isinstance(answer, tuple):
            found.states |= answer[0] | answer[1]
            found.share |= answer[1].keys()
        else:
            found.unknown.append(UnknownCommits((), f"the groups that broker {broker_id} coordinates: {answer}"))


def _find_unlisted(cluster: Cluster, described: Iterable[PartitionState], found: GroupLook) -> None:
    """Note that groups are missing whose coordinator is down: nobody lists them."""
    own = [each for each in described if each.topic == OFFSETS_TOPIC]
    down = sorted(each.topic_partition for each in own if each.is_offline or each.leader_id not in cluster.unfenced)
    if down:
        why = (
            f"the groups of {join_first(down, MOST_NAMED)}, {len(down)} of {plural(len(own), 'partition')}: no "
            "leader is up"
        )
        found.unknown.append(UnknownCommits((), why))


def _find_coordinators(
    cluster: Cluster, leaders: Mapping[TopicPartition, int], partitions: int, names: Iterable[str], found: GroupLook
) -> None:
    """Find the leader of each group's partition of __consumer_offsets."""
    without: dict[TopicPartition, list[str]] = {}
    for group in sorted(names):
        place = TopicPartition(OFFSETS_TOPIC, partition_of(group, partitions) if partitions else 0)
        address = cluster.addresses.get(leaders.get(place, -1))
        if address is None:
            without.setdefault(place, []).append(group)
        else:
            found.coordinators[group] = address
    for place, groups in without.items():
        found.unknown.append(UnknownCommits(tuple(groups), f"{place}, which has their commits, has no leader"))


def _read_commits(kafka: Kafka, found: GroupLook) -> None:
    by_coordinator = grouped((address, group) for group, address in found.coordinators.items())

    def ask(address: Address) -> dict[str, GroupCommits]:
        names = by_coordinator[address]
        of_consumers = kafka.read_commits(address, [each for each in names if each not in found.share])
        starts = kafka.share_start_offsets(address, [each for each in names if each in found.share])
        found.stateless |= {(group, name) for group, each in starts.items() for name in each.uninitialized}
        return of_consumers | {group: share_commits(each) for group, each in starts.items()}

    answers = kafka.in_parallel(ask, by_coordinator)
    failed: dict[str, list[str]] = {}
    for address, answer in answers.items():
        if isinstance(answer, BrokerCallError):
            failed.setdefault(str(answer), []).extend(by_coordinator[address])
            continue
        for group, commits in answer.items():
            found.commits[group] = commits
            if commits.error:
                failed.setdefault(commits.error, []).append(group)
    found.unknown += [UnknownCommits(tuple(groups), error) for error, groups in failed.items()]


def _find_lost_share_groups(states: ShareStates, saved: Collection[Place], found: GroupLook) -> None:
    """Name the share groups of the salvage that no coordinator lists."""
    unlisted = grouped((place[0], place) for place in sorted(saved) if place[0] not in found.states)
    others = []
    for group, places in unlisted.items():
        has = {states.has(each) for each in places}
        if has == {False}:
            others.append(group)
            continue
        # Tried on 4.3.1: AlterShareGroupOffsets is refused with FENCED_STATE_EPOCH, and new members get nothing.
        why = (
            "no coordinator lists this share group to us, and its state is still there: Kafka refuses it new start "
            "offsets, and gives its consumers nothing. Let them use a group of another name"
            if True in has
            else "no coordinator lists this share group to us, and whether its state is there cannot be read"
        )
        found.unknown.append(UnknownCommits((group,), why))
    if others:
        found.notes.append(f"share groups of the salvage that do not exist any more are left out: {join_first(others)}")


def _note_unanswered(
    kafka: Kafka, unanswered: Mapping[TopicPartition, Sequence[str]], topics: Collection[str], found: GroupLook
) -> None:
    """Note the partitions whose logs are not known. Those of topics that do not exist any more need nothing."""
    unseen = {each.topic for each in unanswered} - {*topics}
    deleted = unseen.difference(kafka.hidden_among(unseen))
    if deleted:
        names = join_first(sorted(deleted), MOST_NAMED)
        found.notes.append(f"topics that do not exist any more are left out, with the groups' offsets: {names}")
    for name, groups in unanswered.items():
        if name.topic not in deleted:
            why = f"{name} has no leader that answers, or is hidden: where its log starts and ends is not known"
            found.unknown.append(UnknownCommits(tuple(groups), why))


def _find_absent(unlisted: Iterable[str], known: Collection[str], found: GroupLook) -> None:
    """Note the groups that were asked for and do not exist: their coordinator answers, and has no commit of them."""
    absent = [each for each in unlisted if (one := found.commits.get(each)) and not one.error and not one.commits]
    texts = not_found(absent, known, "group")
    found.unknown += [UnknownCommits((each,), texts[each]) for each in sorted(absent)]


def share_commits(found: ShareOffsets) -> GroupCommits:
    """Return the start offsets of a share group as commits."""
    return GroupCommits({name: Commit(offset) for name, offset in found.offsets.items()}, found.error)


def _leave_out_former_topics(saved: SavedCommits, found: GroupLook) -> dict[tuple[str, TopicPartition], CommitFields]:
    """Return the saved commits without those that are of a former topic of the same name, and name these topics."""
    former = find_of_former_topics(saved.commits, found.topic_ids)
    if former:
        names = join_first(sorted({name.topic for _group, name in former}), MOST_NAMED)
        found.notes.append(f"saved offsets in topics that were created again since are left out: {names}")
    return {place: each for place, each in saved.commits.items() if place not in former}


def _name_topics(
    states: Mapping[Place, ShareState | None], described: Iterable[PartitionState], found: GroupLook
) -> dict[tuple[str, TopicPartition], Commit]:
    """Return the saved start offsets of share groups by topic name. Those of topics that are gone are left out."""
    names = {(each.topic_id, each.partition): each.topic_partition for each in described}
    named = {
        (group, names[topic_id, partition]): state
        for (group, topic_id, partition), state in states.items()
        if group in found.commits and group in found.share and (topic_id, partition) in names
    }
    for (group, name), state in named.items():
        if state is None:
            why = f"the salvage has changes of its state in {name}, and the state before them cannot be read"
            found.unknown.append(UnknownCommits((group,), why))
    return {place: Commit(state.next_record()) for place, state in named.items() if state is not None}


def commit_now(found: GroupLook, step: CommitStep) -> Commit | None:
    """Return the group's present commit for the step's partition; None if it has none."""
    return found.commits[step.group].commits.get(step.topic_partition)
