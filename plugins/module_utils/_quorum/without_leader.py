# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Say what to do while no controller leads: wait, start controllers, or recover the quorum.

The decision tree of docs/runbook.md ("No controller leads"), by the controllers that answer this host. Whether a disk
is lost for good, no request can tell: so the recovery is always named with its condition, and never while a majority
answers. Pure; standard library only.
"""

from __future__ import annotations

from collections.abc import Collection

from .observation import Observation

_RECOVER = "ansible-playbook kafkaops.recovery.recover_quorum -i inventory -e quorum_recovery_lost_voters="
_CHAPTER = 'docs/runbook.md, "No controller leads"'


def next_step(observation: Observation) -> str:
    """Return what to do first, without a period at the end. Only meaningful if no leader could be asked."""
    answering = {each.id_or_address for each in observation.looks[-1].views}
    silent = {each.id_or_address for each in observation.controllers if each.cause is not None} - answering
    known = answering | silent
    if not known:
        return (
            "No controller could be asked on its own listener: name the controllers in bootstrap_controllers (of a "
            "role: kafka_bootstrap_controllers), and look again. Start those that are stopped, with the old disks"
        )
    if observation.voter_count is None:
        return _without_number(answering, silent)
    voters = max(observation.voter_count, len(known))
    majority = voters // 2 + 1
    if len(answering) >= majority:
        return (
            f"{_named(answering)} of {voters} answered, and {majority} are a majority: wait a minute for an "
            "election. If there is none, look at the network between them and at their logs. Nothing is lost, as long "
            f"as they have their old disks: one with a new disk answers, too, and must not be counted ({_CHAPTER})"
        )
    if not answering:
        return (
            f"{_named(silent)} answer nothing to this host. Look on their hosts, and start those that are stopped, "
            f"with the old disks: {majority} of {voters} are enough. {_last_resort(f'{majority}', '<their ids>')}"
        )
    are_known = len(known) == voters and all(isinstance(each, int) for each in silent)
    ids = ",".join(map(str, _sorted(silent))) if are_known else "<their ids>"
    stopped = _named(silent, "controllers") if len(known) == voters else "the other controllers"
    return (
        f"Start {stopped} with the old disks, until {majority} of {voters} run: then nothing is "
        f"lost. {_last_resort(f'{majority}', ids)}"
    )


def _without_number(answering: Collection[int | str], silent: Collection[int | str]) -> str:
    """Return what to do if no controller lists the others: it is unknown whether a majority answers."""
    start = "start those that are stopped, with the old disks"
    if not answering:
        return (
            f"{_named(silent)} answer nothing to this host. Look on their hosts, and {start}: a majority of the voters "
            f"is enough. {_last_resort('majority', '<their ids>')}"
        )
    return (
        f"{_named(answering)} answered, and no controller says how many voters there are: look on the hosts of all "
        f"controllers, and {start}. If a majority runs, wait a minute for an election. If there is none, look at the "
        "network between them and at their logs, and name all of them in bootstrap_controllers (of a role: "
        "kafka_bootstrap_controllers)"
    )


def _last_resort(majority: str, ids: str) -> str:
    return (
        f"Only if so many of these disks are lost for good that no {majority} can run again: {_RECOVER}{ids} (it looks "
        f"first, and refuses while a majority can be started; {_CHAPTER})"
    )


def _named(nodes: Collection[int | str], noun: str = "Controllers") -> str:
    *first, last = map(str, _sorted(nodes))
    return f"{noun} {', '.join(first)} and {last}" if first else f"{noun.removesuffix('s')} {last}"


def _sorted(nodes: Collection[int | str]) -> list[int | str]:
    return sorted(nodes, key=lambda each: (isinstance(each, str), str(each).zfill(12)))
