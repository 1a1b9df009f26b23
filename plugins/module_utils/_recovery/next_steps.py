# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""List what to do next after a recovery or a look. The terminal and the page print these steps.

Each caller gives the commands as it knows them: the terminal has the variables of its run, and the page only what its
documents say. A step whose command is missing is left out.

Pure; standard library only.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from .._model.partition import BrokerState
from .._model.reasons import name_brokers, plural
from .._model.replaced_disk import doubt_elections
from .._model.variable import set_variable
from .next_way import How, Return, Way, choose_way
from .plan import DONE, DONE_OR_FORESEEN, RefusedBy, Status
from .start_order import describe_doubtful_leaders

Step: TypeAlias = tuple[str, Sequence[str]]
"""A text, and the words of its command; no words if there is none."""

_LOG_DIRS = "log_salvage_log_dirs"
_ANY_LOG_DIR = set_variable(_LOG_DIRS, ["LOG_DIR"])[1]
"""A word of the command that saves disks, for a person to fill in."""
SURVEYED = "surveyed"
"""In place of a status: nothing is known of the partitions but that they have no leader."""
_MOST_BROKERS = 3
_OLD_DISK = (
    "Start it only with its old disk. With an empty disk it can still be elected, and all other replicas then delete "
    "what they hold."
)
_OLD_DIR = (
    "If the disk is full, free space. Its old content must be there when the broker restarts. With an empty directory "
    "it can still be elected, and all other replicas then delete what they hold."
)
_DECLARED_LOST = (
    "declared lost: with an empty disk a broker can be elected, and all other replicas then delete what they hold. "
    "Only after all partitions that have other replicas are recovered, an empty disk is safe: partitions without "
    "another replica then begin at offset 0."
)
_OF_CLIENTS = {"committed_beyond_end", "committed_before_start", "open_transaction", "state_lost"}
_GROUPS = (
    "Groups may have lost their place, or transactions may hang: read_committed consumers stop there. This looks, and "
    "prints how to repair it. Give it group_recovery_salvage_dir if a salvage was made:"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Commands:
    """The command of each step as words; empty if there is none."""

    look: Sequence[str] = ()
    recover: Sequence[str] = ()
    bolder: Sequence[str] = ()
    salvage: Sequence[str] = ()
    redundancy: Sequence[str] = ()
    groups: Sequence[str] = ()
    replays: Sequence[Sequence[str]] = ()
    plan_file: str = ""
    """The plan that ``recover`` carries out. Not a command."""
    lost_brokers: Sequence[int] = ()
    """The brokers that were declared lost. Not a command."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AfterRun:
    """What the next steps depend on. All collections may be empty."""

    statuses: Collection[str]
    """Those that partitions have (``plan.Status``), or ``SURVEYED``."""
    returns: Sequence[Return] = ()
    states: Mapping[int, str] = field(default_factory=dict)
    """The state of each broker by its id."""
    offline_log_dirs: Mapping[int, Sequence[str]] = field(default_factory=dict)
    unclean_elections: Mapping[int, int | None] = field(default_factory=dict)
    """Partitions of each broker whose leader was elected uncleanly since it left; None if unknown."""
    elections_missing: Mapping[int, str] = field(default_factory=dict)
    """Why they are unknown."""
    start_order: Sequence[Mapping[str, Any]] = ()
    is_unbounded: bool = False
    """Whether what only silent replicas held may be lost without a bound."""
    is_led_by_replaced: bool = False
    refused_by: Collection[str] = ()
    """The rules that refused elections (``plan.RefusedBy``); "" for what only the reasons say."""
    lacking_replicas: int = 0
    """Partitions with a leader that take no record with acks=all."""
    aftermath: Collection[str] = ()
    """The kinds of findings."""
    has_changed_orders: bool = False
    """Whether replica orders that an earlier run changed are not restored."""

    @property
    def away(self) -> list[int]:
        """The brokers that are not online."""
        return [each for each, state in self.states.items() if state != BrokerState.ONLINE]

    @property
    def to_save(self) -> set[int]:
        """The brokers whose disks must be saved before they start, or restart with an offline log directory."""
        away = {*self.away, *self.offline_log_dirs}
        if self.is_led_by_replaced or (Status.RECOVERED in self.statuses and self.is_unbounded):
            return away
        # Those that earlier runs, or Kafka itself, elected leaders without.
        return {each for each in away if self.unclean_elections.get(each)}


def salvage_command(connection: Iterable[str]) -> list[str]:
    """Return the command that saves the disks of an offline broker. A person replaces the names in capitals."""
    where = ("-i", "INVENTORY", *set_variable("log_salvage_hosts", "HOST"))
    what = ("-e", _ANY_LOG_DIR, *set_variable("log_salvage_dir", "NEW_DIR"))
    return ["ansible-playbook", "kafkaops.recovery.salvage_logs", *where, *connection, *what]


def list_steps(after: AfterRun, commands: Commands) -> Iterator[Step]:
    """Yield the next steps in their order. There are none if everything is well."""
    may_elect = bool(commands.bolder) and RefusedBy.STRATEGY in after.refused_by
    way = choose_way(after.statuses, after.returns, may_elect=may_elect)
    yield from _save_disks(after, commands)
    if way is Way.NONE:
        yield from _doubt_disks(after, commands)
    if way is Way.RETURN:
        yield from ((text, ()) for text in _describe_returns(after, has_elected=Status.RECOVERED in after.statuses))
        yield _look_after(after.returns, commands), commands.look
    elif way is Way.ELECT:
        text = "See what it costs to elect the best surviving replicas. To carry it out, omit --check:"
        yield text, commands.bolder
    elif way is Way.FOLLOW_REASONS and commands.look:
        yield _look_again(after, commands)
    if Status.WOULD_RECOVER in after.statuses and commands.recover:
        plan_file = commands.plan_file
        text = f"Let a second person review {plan_file}, then carry it out:" if plan_file else "Carry it out:"
        yield text, commands.recover
    given_up = [each["broker_id"] for each in after.start_order if _is_given_up(each)]
    if given_up and {*after.statuses} - DONE:
        yield f"Do not start {name_brokers(given_up)}, {_DECLARED_LOST}", ()
    for each in commands.replays:
        yield "Replay the saved records of other replicas, first with --check:", each
    if after.lacking_replicas and after.away and commands.redundancy:
        yield _make_writable(after), [*commands.redundancy, *set_variable("redundancy_lost_brokers", after.away)]
    if {*after.aftermath} & _OF_CLIENTS and commands.groups:
        yield _GROUPS, commands.groups
    if after.has_changed_orders:
        yield "Run again to restore the replica orders that are still changed:", commands.look


def _look_again(after: AfterRun, commands: Commands) -> Step:
    if SURVEYED in after.statuses:
        return "Look at what each would cost:", commands.look
    if RefusedBy.INTERNAL_TOPIC not in after.refused_by:
        return "Follow the reasons of the partitions, then look again:", commands.look
    look = [*commands.look, *set_variable("unclean_recovery_include_internal_topics", "true")]
    others = {*after.statuses} - DONE_OR_FORESEEN - {Status.REFUSED}
    if {*after.refused_by} == {RefusedBy.INTERNAL_TOPIC} and not others:
        return "Look at the internal topics, too. Their records are the cluster's own state:", look
    return "Follow the reasons of the partitions, then look again, also at internal topics:", look


def _save_disks(after: AfterRun, commands: Commands) -> Iterator[Step]:
    """Yield the steps that save the disks of offline brokers and log dirs, if new leaders may lack their records."""
    if not commands.salvage:
        return
    to_save = after.to_save
    for broker_id, dirs in after.offline_log_dirs.items():
        if broker_id not in to_save:
            continue
        yield (
            f"Before broker {broker_id} restarts with {', '.join(dirs)}: save the records that only this disk may "
            "hold, if it can be read. The broker deletes records that the new leaders lack. Fill in INVENTORY, HOST "
            "and NEW_DIR:",
            [set_variable(_LOG_DIRS, [*dirs])[1] if word == _ANY_LOG_DIR else word for word in commands.salvage],
        )
    if away := [each for each in after.away if each in to_save]:
        are, their = ("is", "its") if len(away) == 1 else ("are", "their")
        yield (
            f"Before {name_brokers(away)} {are} started: save the records that only {their} disks may hold. A "
            "broker that starts deletes records that the new leaders lack. Fill in INVENTORY, HOST, LOG_DIR (each of "
            "log.dirs) and NEW_DIR:",
            commands.salvage,
        )


def _doubt_disks(after: AfterRun, commands: Commands) -> Iterator[Step]:
    """Yield what is not known of brokers and log directories that a person may start now that all seems well."""
    unknown = [each for each in (*after.away, *after.offline_log_dirs) if after.elections_missing.get(each)]
    doubted = [each for each in unknown if each not in after.to_save]
    for broker_id in doubted[:_MOST_BROKERS]:
        is_running = broker_id in after.offline_log_dirs
        what = f"runs without {', '.join(after.offline_log_dirs[broker_id])}" if is_running else "does not run"
        doubt = doubt_elections(after.elections_missing[broker_id], is_running=is_running)
        yield f"Broker {broker_id} {what}. {doubt}", commands.salvage


def _make_writable(after: AfterRun) -> str:
    verb = "takes" if after.lacking_replicas == 1 else "take"
    return (
        f"{plural(after.lacking_replicas, 'partition')} {verb} no record with acks=all until more replicas are in "
        f"sync. If {name_brokers(after.away)} cannot return, copy the replicas to other brokers. This looks first:"
    )


def _is_given_up(advice: Mapping[str, Any]) -> bool:
    return (advice.get("broker") or {}).get("state") == BrokerState.GIVEN_UP


def _describe_returns(after: AfterRun, *, has_elected: bool) -> Iterator[str]:
    # The advice is older than the elections of the run.
    counted = " (counted before this run elected leaders)" if has_elected else ""
    for each in after.returns[:_MOST_BROKERS]:
        old_disk, old_dir = _OLD_DISK, _OLD_DIR
        if after.unclean_elections.get(each.broker_id) is None:
            missing = after.elections_missing.get(each.broker_id, "")
            old_disk += f" {doubt_elections(missing)}"
            old_dir += f" {doubt_elections(missing, is_running=True)}"
        if not each.advice:
            do = old_disk if each.how is How.START else "It runs: find out why."
            yield f"Broker {each.broker_id} does not answer. {do}"
            continue
        broker, name, effect = each.advice.get("broker"), f"broker {each.broker_id}", f"{_effect(each.advice)}{counted}"
        name += f" at {broker['host']}:{broker['port']}" if broker and broker["host"] else ""
        name += f" (rack {broker['rack']})" if broker and broker.get("rack") else ""
        text = {
            How.START: f"Start {name}: {effect}. {old_disk}",
            How.REPAIR: f"Repair the offline log directory of {name}, which runs: {effect}. {old_dir}",
            How.FREE: f"Find out what keeps {name}, which runs, from leading: {effect}.",
        }[each.how]
        doubts = describe_doubtful_leaders(each.broker_id, each.advice["doubtful_leaders"])
        yield " ".join([text, *(f"{doubt[0].upper()}{doubt[1:]}." for doubt in doubts)])
    rest = [str(each.broker_id) for each in after.returns[_MOST_BROKERS:] if each.how is How.START]
    if rest:
        yield f"If this is not sufficient, start brokers {', '.join(rest[:10])}, in this order."


def _look_after(returns: Sequence[Return], commands: Commands) -> str:
    """Return the text of the next look, and what to add to it if a broker never returns."""
    lost = sorted({*commands.lost_brokers, returns[0].broker_id})
    add = f"-e unclean_recovery_lost_brokers={','.join(map(str, lost))}"
    is_disk = returns[0].how is How.REPAIR
    what = "its log directory is lost with all that it holds" if is_disk else "it is lost for good"
    before = ", before the directory is replaced" if is_disk else ""
    return f"Then look again. If broker {returns[0].broker_id} cannot return because {what}, add {add}{before}:"


def _effect(advice: Mapping[str, Any]) -> str:
    always, clean = advice["always_back"], advice["back_after_clean_stop"]
    if always and clean:
        return (
            f"{plural(always, 'partition', 'get')} a leader when it returns, {clean:,} more if it was stopped cleanly"
        )
    if always:
        return f"{plural(always, 'partition', 'get')} a leader as soon as it returns"
    if clean:
        return f"{plural(clean, 'partition', 'get')} a leader if it was stopped cleanly"
    replicas = "replica" if advice["replica_of"] == 1 else f"{advice['replica_of']:,} replicas"
    return f"no partition gets a leader by it alone, but its {replicas} can be compared"
