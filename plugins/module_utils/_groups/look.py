# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Read where groups and logs stand, and which committed offsets need a change. Only reads.

1. Groups and their commits are read from the coordinators (present.py).
2. What a salvage has of them is matched with the topics and groups of now.
3. The leaders are asked about their logs (logs.py). They are asked after the coordinators, so a commit that is made
   meanwhile is never taken for one beyond the end.
4. If an offset depends on it, the controllers are asked which elections were unclean (lost_tails.py).
5. __consumer_offsets and __share_group_state say what became of saved offsets since the election (since.py, share.py).
6. Each committed offset is decided (decide.py).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from .._kafka.cluster import Cluster
from .._kafka.group_commits import partition_of
from .._kafka.groups import Commit
from .._kafka.offset_records import LostLogs, SavedCommits
from .._kafka.port import Kafka
from .._kafka.share_state import Place, ShareState
from .._model.near_names import not_found
from .._model.outage import utc_text
from .._model.partition import OFFSETS_TOPIC, PartitionState, TopicPartition, grouped
from .._model.reasons import join_first, name_partitions
from .decide import CommitDecision, Since, choose, decide_commit, decide_share_start, find_of_former_topics
from .divergence import CommitFields, PresentLog, needs_lost_tails
from .logs import LogReader
from .lost_tails import CLOCKS_APART_MS, find_lost_tails
from .plan import MOST_NAMED, Choice, CommitNeed, CommitStep, UnknownCommits
from .present import PresentGroups, read_groups
from .share import IS_THERE, ShareStates, share_states
from .since import ChangeReader, CommitChanges, explain_unread

_GroupPartition = tuple[str, TopicPartition]


@dataclass(slots=True)
class GroupLook:
    """What a look found."""

    present: PresentGroups
    topic_ids: dict[str, str]
    leaders: dict[TopicPartition, int]
    """The leader of each partition that has one."""
    offline: tuple[TopicPartition, ...]
    """The partitions without a leader, if all groups are looked at."""
    lost: LostLogs = field(default_factory=LostLogs)
    """What the logs lack, by the salvage."""
    logs: dict[TopicPartition, PresentLog] = field(default_factory=dict)
    steps: list[CommitStep] = field(default_factory=list)
    """In order of group, topic and partition."""
    since: dict[_GroupPartition, Since] = field(default_factory=dict)
    """What was done with offsets since the election, where that is not nothing."""
    unknown: list[UnknownCommits] = field(default_factory=list)
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
    asks_controllers: bool = True,
) -> GroupLook:
    """Look at these groups, or at all. Raises BrokerCallError or RequestRefusedError.

    ``beyond_end_time`` says where groups continue whose offset is beyond the log end, if nothing else says it.
    Groups of ``overwrite`` get their saved offsets whatever was done since the election, and are changed although it is
    in doubt whether their offsets hold. ``asks_controllers``: about unclean elections, if an offset depends on them.
    """
    described = kafka.describe_partitions().partitions
    present = read_groups(kafka, cluster, described, wanted, saved.groups)
    found = GroupLook(
        present,
        {each.topic: each.topic_id for each in described},
        {each.topic_partition: each.leader_id for each in described if not each.is_offline},
        () if wanted is not None else tuple(sorted(each.topic_partition for each in described if each.is_offline)),
        unknown=[*present.unknown],
    )
    known = {*present.states, *saved.groups}
    mistyped = not_found({*overwrite} - known - {*(wanted or ())}, known, "group")
    found.unknown += [UnknownCommits((each,), f"overwrite_groups: {text}") for each, text in mistyped.items()]

    lost = found.lost = saved.lost_of(found.topic_ids)
    share = share_states(kafka, cluster, described)
    saved_states = share.saved(saved.share_log, lost.first_lost)
    _find_lost_share_groups(share, {each for each in saved_states if wanted is None or each[0] in wanted}, found)
    matched: dict[_GroupPartition, CommitFields] = {
        **_leave_out_former_topics(saved, described, found),
        **_name_topics(saved_states, described, found),
    }
    kept = {place: each for place, each in matched.items() if place[0] in present.answered}
    pairs = {(group, name) for group, one in present.commits.items() for name in one.commits}
    pairs |= present.stateless | {*kept} | {place for place in saved.unsettled if place[0] in present.answered}

    epochs = _epochs_to_ask(pairs, kept, saved, found)
    led = {each.topic_partition: each for each in described if not each.is_offline}
    reader = LogReader(kafka, cluster, led, epochs, lost.first_lost, lost.lost_epochs, beyond_end_time)
    found.logs = reader.read()
    if asks_controllers:
        in_question = _find_in_question(pairs, kept, found)
        since_ms = max(0, saved.since_ms - CLOCKS_APART_MS)
        states = [each for each in described if each.topic_partition in in_question]
        since_when = 0 if any(in_question.values()) else since_ms
        for name, tails in find_lost_tails(kafka, cluster.cluster_id, states, reader, since_when).items():
            found.logs[name] = replace(found.logs[name], lost=tails, saved_since_ms=since_ms)
        found.notes += _note_epochs_not_kept(in_question, found)
    changes = ChangeReader(kafka, cluster, found.leaders, saved.commit_logs, found.logs).read()
    partitions = sum(each.topic == OFFSETS_TOPIC for each in described)
    decider = _Decider(found, saved, kept, changes, partitions, share, saved_states, overwrite)
    unanswered: dict[TopicPartition, list[str]] = {}
    for group, name in sorted(pairs):
        log = found.logs.get(name)
        if log is None:
            unanswered.setdefault(name, []).append(group)
            continue
        decision, since = decider.decide(group, name, log)
        if since is not None:
            found.since[group, name] = since
        if decision.doubt:
            found.unknown.append(UnknownCommits((group,), f"{name}: {decision.doubt}"))
        if decision.step is not None:
            found.add(decision.step)
    found.unknown += explain_unread(saved.unread, partitions, overwrite, present)
    _note_unanswered(kafka, unanswered, {*found.topic_ids}, found)
    return found


@dataclass(frozen=True, slots=True)
class _Decider:
    """Decides one offset by what is known of all."""

    found: GroupLook
    saved: SavedCommits
    kept: Mapping[_GroupPartition, CommitFields]
    """What the salvage has of groups that answered."""
    changes: Mapping[int, CommitChanges]
    """By partition of __consumer_offsets, of which there are ``partitions``."""
    partitions: int
    share: ShareStates
    saved_states: Mapping[Place, ShareState | None]
    overwrite: Collection[str]

    def decide(self, group: str, name: TopicPartition, log: PresentLog) -> tuple[CommitDecision, Since | None]:
        """Return how to change the offset, and what was done with it since the election."""
        now, old = self.found.present.commit_of(group, name), self.kept.get((group, name))
        if group in self.found.present.share:
            return self._decide_share(group, name, now, old, log)
        since, overwrites, unsettled = None, group in self.overwrite, self.saved.unsettled.get((group, name), -1)
        is_saved = old is not None or unsettled >= 0
        if is_saved and self.changes and (changes := self.changes.get(partition_of(group, self.partitions))):
            since = changes.since(group, name, self.found.present.commits[group].commits)
        decision = decide_commit(group, name, now, old, log, since, overwrites=overwrites, unsettled=unsettled)
        return decision, since

    def _decide_share(
        self, group: str, name: TopicPartition, now: Commit | None, old: CommitFields | None, log: PresentLog
    ) -> tuple[CommitDecision, Since | None]:
        decision = decide_share_start(group, name, now, old, log, overwrites=group in self.overwrite)
        step = decision.step
        if step is None or step.need is not CommitNeed.WENT_BACK:
            return decision, None
        place = (group, self.found.topic_ids[name.topic], name.partition)
        since = self.share.since(place, step.target, self.saved_states.get(place), self.found.lost.first_lost)
        if since is IS_THERE:
            return CommitDecision(), since
        return CommitDecision(choose(step, since, overwrites=group in self.overwrite)), since


def _epochs_to_ask(
    pairs: Iterable[_GroupPartition],
    kept: Mapping[_GroupPartition, CommitFields],
    saved: SavedCommits,
    found: GroupLook,
) -> dict[TopicPartition, set[int]]:
    """Return the leader epochs whose ends are needed: of commits, and of the logs that the saved ones are from."""
    epochs: dict[TopicPartition, set[int]] = {
        TopicPartition(OFFSETS_TOPIC, number): {log.epoch} - {-1} for number, log in saved.commit_logs.items()
    }
    for group, name in pairs:
        both = (found.present.commit_of(group, name), kept.get((group, name)))
        epochs.setdefault(name, set()).update(each.leader_epoch for each in both if each and each.leader_epoch >= 0)
    for name, _producer in found.lost.markers:
        epochs.setdefault(name, set())
    for name in epochs.keys() & found.lost.lost_epochs.keys():
        epochs[name] |= {found.lost.lost_epochs[name]} - {-1}
    return epochs


def _find_in_question(
    pairs: Iterable[_GroupPartition], kept: Mapping[_GroupPartition, CommitFields], found: GroupLook
) -> dict[TopicPartition, set[str]]:
    """Return the partitions whose unclean elections an offset depends on, each with the groups now at such an offset.

    A saved offset matters only if it is higher than the present one.
    """
    partitions: dict[TopicPartition, set[str]] = {}
    for group, name in pairs:
        log, now, saved = found.logs.get(name), found.present.commit_of(group, name), kept.get((group, name))
        if log is None:
            continue
        if now is not None and needs_lost_tails(now, log, is_saved=False):
            partitions.setdefault(name, set()).add(group)
        is_higher = saved is not None and (now is None or saved.offset > now.offset)
        if saved is not None and is_higher and needs_lost_tails(saved, log, is_saved=True):
            partitions.setdefault(name, set())
    return partitions


def _note_epochs_not_kept(in_question: Mapping[TopicPartition, Collection[str]], found: GroupLook) -> Iterator[str]:
    """Yield which leader epochs are not used: they end before the offsets, and nothing was lost."""
    groups: dict[str, list[TopicPartition]] = {}
    since = 0
    for name, of_name in sorted(in_question.items()):
        log = found.logs[name]
        for group in sorted(of_name):
            now = found.present.commit_of(group, name)
            if now is None or log.lost.missing or now.offset > log.end:
                continue
            if log.lost.first_lost(now.leader_epoch, 0) is None:
                groups.setdefault(group, []).append(name)
                since = max(since, log.lost.begins_at_ms)
    if groups:
        places = sorted({name for names in groups.values() for name in names})
        known = f" since {utc_text(since)}" if since else ""
        yield (
            f"the metadata log has no unclean election of {name_partitions(places)}{known}: the leader epochs that "
            f"clients of {join_first(sorted(groups), MOST_NAMED)} committed there end before their offsets, and are "
            "not used"
        )


def _find_lost_share_groups(states: ShareStates, saved: Collection[Place], found: GroupLook) -> None:
    """Name the share groups of the salvage that no coordinator lists."""
    unlisted = grouped((place[0], place) for place in sorted(saved) if place[0] not in found.present.states)
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


def _leave_out_former_topics(
    saved: SavedCommits, described: Collection[PartitionState], found: GroupLook
) -> dict[_GroupPartition, CommitFields]:
    """Return the saved commits without those that are of a former topic of the same name, and name these topics."""
    epochs = {each.topic_partition: each.leader_epoch for each in described if not each.is_offline}
    former = find_of_former_topics(saved.commits, found.topic_ids, epochs)
    if former:
        names = join_first(sorted({name.topic for _group, name in former}), MOST_NAMED)
        found.notes.append(f"saved offsets in topics that were created again since are left out: {names}")
    return {place: each for place, each in saved.commits.items() if place not in former}


def _name_topics(
    states: Mapping[Place, ShareState | None], described: Iterable[PartitionState], found: GroupLook
) -> dict[_GroupPartition, Commit]:
    """Return the saved start offsets of share groups by topic name. Those of topics that are gone are left out."""
    names = {(each.topic_id, each.partition): each.topic_partition for each in described}
    named = {
        (group, names[topic_id, partition]): state
        for (group, topic_id, partition), state in states.items()
        if group in found.present.commits and group in found.present.share and (topic_id, partition) in names
    }
    for (group, name), state in named.items():
        if state is None:
            why = f"the salvage has changes of its state in {name}, and the state before them cannot be read"
            found.unknown.append(UnknownCommits((group,), why))
    return {place: Commit(state.next_record()) for place, state in named.items() if state is not None}


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
