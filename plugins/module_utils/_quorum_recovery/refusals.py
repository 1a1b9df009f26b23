# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Find every reason against the recovery of a quorum. Pure; standard library only."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from .._model.partition import grouped
from .._model.quorum import Endpoint
from .._model.reasons import agreeing, plural
from .copy import LogCopy, OldVoter


def find_refusals(
    copies: Sequence[LogCopy],
    survivor: LogCopy,
    held: Sequence[LogCopy],
    lost: Collection[int],
    answering: Mapping[int, str],
) -> Iterator[str]:
    """Yield each reason, in words.

    Args:
        copies: what each host has.
        survivor: the copy that would go on.
        held: the whole copies of old voters.
        lost: ids of the voters that the operator declares lost for good.
        answering: where an old voter may answer, by its id.
    """
    whole = {each.node_id: each for each in held}
    yield from _doubles(held)
    voters = tuple(each.voter_id for each in old_voters(survivor))
    clusters = sorted({each.cluster_id for each in copies if each.cluster_id})
    if len(clusters) > 1:
        named = ", ".join(f"{each.host} ({each.log_dir}): {each.cluster_id}" for each in copies if each.cluster_id)
        yield f"the disks belong to {len(clusters)} clusters: {named}. Take those of the other cluster out of the run"
    if not voters:
        yield f"{survivor.host} names no voters, neither in the log nor in its properties"
        return
    majority = len(voters) // 2 + 1
    kept = sorted(each for each in whole if each is not None)
    if len(kept) >= majority:
        stopped = [each for each in kept if not whole[each].is_running]
        why = f"and {majority} of {plural(len(voters), 'voter', 'are')} a majority. Nothing needs to be recovered"
        if stopped:
            whose = "its disk is" if len(stopped) == 1 else "their disks are"
            yield f"start {name_ids('controller', stopped)} first; {whose} whole, {why}"
        else:
            yield f"{name_ids('controller', kept)} {'runs' if len(kept) == 1 else 'run'}, {why}"
        return
    if survivor.node_id not in voters:
        yield (
            f"controller {survivor.node_id} on {survivor.host} has the newest log, and is none of the voters "
            f"{_ids(voters)}. To keep its log, give a copy of it to a voter: docs/quorum.md (\"No controller's disk is "
            'left"). To forget what only it has, take its host out of the run'
        )
    if not survivor.kraft_version and not any(each.voter_id == survivor.node_id for each in survivor.static_voters):
        yield f"{survivor.properties_file} does not name controller {survivor.node_id} in controller.quorum.voters"
    yield from _unusable(survivor)
    yield from _undeclared(voters, whole, lost)
    gone = [each for each in voters if each not in whole]
    for node_id in gone:
        # A broker may have this id, too: Kafka does not compare it with those of dynamic voters.
        running = (each for each in copies if each.is_controller and each.is_running)
        here = next((each for each in running if each.node_id == node_id), None)
        if node_id in answering:
            yield (
                f"voter {node_id} answers at {answering[node_id]}: stop it, because it may lead with its old voters. "
                "Only if you have seen that another program answers there, such as a load balancer, add "
                f"{node_id} to quorum_recovery_answered_by_others"
            )
        elif here is not None:
            yield f"voter {node_id} runs on {here.host} ({here.log_dir} is locked): stop it"


def _unusable(survivor: LogCopy) -> Iterator[str]:
    """Yield why a whole copy cannot be changed as it is."""
    if survivor.ends_before_snapshot:
        yield (
            f"the log of controller {survivor.node_id} on {survivor.host} ends before its newest snapshot: it stopped "
            "while it copied the snapshot. Start it once, with its old voters. Kafka then cuts the log to the "
            "snapshot, also without a quorum. Stop it, and look again"
        )
    elif survivor.is_blocked and survivor.snapshot is not None:
        yield (
            f"controller {survivor.node_id} on {survivor.host} would end itself when it leads: a metadata transaction "
            f"begins at offset {survivor.snapshot.end_offset}, where its newest snapshot ends (OffsetControlManager "
            "of Kafka cannot load this). No older snapshot, and no log, has what this snapshot covers"
        )
    elif survivor.segment is None:
        yield f"{survivor.log_dir} has a snapshot and no segment of the metadata log"


def old_voters(copy: LogCopy) -> tuple[OldVoter, ...]:
    """Return the voters before the recovery, as the copy names them."""
    if copy.kraft_version:
        return tuple(OldVoter(each.voter_id, each.directory_id, each.endpoints) for each in copy.voters)
    if copy.static_voters:
        static = sorted(copy.static_voters, key=lambda each: each.voter_id)
        return tuple(OldVoter(x.voter_id, None, (Endpoint("CONTROLLER", x.host, x.port),)) for x in static)
    return tuple(OldVoter(each, None, ()) for each in sorted(copy.vote.voters if copy.vote else ()))


def _doubles(held: Sequence[LogCopy]) -> Iterator[str]:
    """Require one disk of each controller: only one of two copies is started, and that must be the changed one."""
    for node_id, named in grouped((each.node_id, f"{each.host} ({each.log_dir})") for each in held).items():
        if len(named) > 1:
            yield (
                f"controller {node_id} is in this run more than once: {', '.join(named)}. Leave only the host "
                "that starts it in the run"
            )


def _undeclared(voters: tuple[int, ...], whole: Mapping[int | None, LogCopy], lost: Collection[int]) -> Iterator[str]:
    """Compare the voters that the operator declares lost with the disks that were found."""
    gone = [each for each in voters if each not in whole]
    unknown = [each for each in gone if each not in lost]
    if not lost:
        who = f"{name_ids('voter', gone)} {agreeing('are', len(gone))}"
        declared = f"set it to {','.join(map(str, gone))}"
        yield f"quorum_recovery_lost_voters is not set. If {who} lost for good, {declared}"
    elif unknown:
        yield (
            f"{name_ids('voter', unknown)} {agreeing('are', len(unknown))} neither declared lost nor "
            f"{agreeing('have', len(unknown))} a whole disk in this run: add each host to the run, or, if the disk is "
            "lost for good, add the voter to quorum_recovery_lost_voters"
        )
    no_voters = [each for each in sorted(lost) if each not in voters]
    if no_voters:
        yield f"quorum_recovery_lost_voters names {_ids(no_voters)}, and the voters are {_ids(voters)}"
    for each in sorted(lost):
        if each in whole:
            yield f"voter {each} is declared lost, and its disk on {whole[each].host} is whole ({whole[each].log_dir})"


def name_ids(noun: str, ids: Collection[int]) -> str:
    """Return a noun with ids, such as "controllers 102 and 103"."""
    return f"{noun}{'' if len(ids) == 1 else 's'} {_ids(ids)}"


def _ids(ids: Collection[int]) -> str:
    *first, last = map(str, ids)
    return f"{', '.join(first)} and {last}" if first else last
