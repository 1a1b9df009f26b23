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
    known = len(answering | silent)
    majority = known // 2 + 1
    if not known:
        return (
            "No controller could be asked on its own listener: name the controllers in bootstrap_controllers (of a "
            "role: kafka_bootstrap_controllers), and look again. Start those that are stopped, with the old disks"
        )
    if len(answering) >= majority:
        return (
            f"{_named(answering)} of {known} answered, and {majority} are a majority: wait a minute for an "
            "election. If there is none, look at the network between them and at their logs. Nothing is lost"
        )
    if not answering:
        return (
            f"{_named(silent)} answer nothing to this host. Look on their hosts, and start those that are stopped, "
            f"with the old disks: {majority} of {known} are enough. {_last_resort(majority, '<their ids>')}"
        )
    ids = ",".join(map(str, _sorted(silent))) if all(isinstance(each, int) for each in silent) else "<their ids>"
    return (
        f"Start {_named(silent, 'controllers')} with the old disks, until {majority} of {known} run: then nothing is "
        f"lost. {_last_resort(majority, ids)}"
    )


def _last_resort(majority: int, ids: str) -> str:
    return (
        f"Only if so many of these disks are lost for good that no {majority} can run again: {_RECOVER}{ids} (it looks "
        f"first, and refuses while a majority can be started; {_CHAPTER})"
    )


def _named(nodes: Collection[int | str], noun: str = "Controllers") -> str:
    *first, last = map(str, _sorted(nodes))
    return f"{noun} {', '.join(first)} and {last}" if first else f"{noun.removesuffix('s')} {last}"


def _sorted(nodes: Collection[int | str]) -> list[int | str]:
    return sorted(nodes, key=lambda each: (isinstance(each, str), str(each).zfill(12)))
