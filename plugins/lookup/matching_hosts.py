# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Refuse a play that would run nothing: Ansible skips it, and its exit status is 0, which here means "yes"."""

from __future__ import annotations

DOCUMENTATION = r"""
name: matching_hosts
short_description: Fail if a play would run nothing
version_added: 1.0.0
description:
  - Returns the patterns, for C(hosts) of a play. Fails if no host matches them all together, or one that adds hosts, or
    if C(--limit) leaves out all of their hosts. Ansible itself skips a play without hosts, and
    its exit status is 0, as if everything were in order.
  - For the same reason it fails if C(--tags), C(--skip-tags) or C(--start-at-task) would skip tasks of a playbook of
    this collection. A playbook that imports one may have tags of its own for it, and is left alone.
  - With C(--syntax-check) it never fails, because the syntax does not depend on an inventory.
author: [the kafkaops.recovery authors (@kafkaops)]
options:
  _terms:
    description: Patterns of hosts and groups, as in C(hosts) of a play.
    required: true
  variable:
    description: The variable that names the hosts, for the message of a C(--limit) that leaves out its default.
    type: str
"""

EXAMPLES = r"""
- name: Require that the group exists
  hosts: "{{ lookup('kafkaops.recovery.matching_hosts', our_hosts | default('ours'), variable='our_hosts') }}"
  gather_facts: false
  tasks: []
"""

RETURN = r"""
_raw:
  description: The patterns.
  type: list
  elements: str
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ansible import context
from ansible.errors import AnsibleLookupError
from ansible.inventory.manager import InventoryManager, split_host_pattern
from ansible.plugins.lookup import LookupBase

_COLLECTION = "kafkaops.recovery."
_PLAYBOOKS = Path(__file__).resolve().parents[2] / "playbooks"
_RUNS = {"all", "untagged"}
"""The tags by which tasks without tags run, or are skipped."""


class LookupModule(LookupBase):
    """See the documentation above."""

    def run(
        self, terms: Sequence[Any], variables: Mapping[str, Any] | None = None, variable: str = "", **_options: Any
    ) -> list[str]:
        given = [each for term in terms for each in ([term] if isinstance(term, str) else term or ())]
        if "" in given or not given:
            raise AnsibleLookupError(
                f"{variable or 'hosts'} is empty, so nothing was done: give a value, or leave it out"
            )
        if context.CLIARGS.get("syntax"):
            return given
        if _is_ours() and (skipping := [*_skipping()]):
            raise AnsibleLookupError(
                f"{' and '.join(skipping)} would skip tasks that belong together, and nothing was done: leave it out"
            )
        known = variables or {}
        inventory = self._inventory(known)
        for each in (*split_host_pattern(given), given):
            if not str(each).startswith(("!", "&")) and not inventory.get_hosts(each):
                raise AnsibleLookupError(
                    f"no host of the inventory matches {_shown(each)!r}, so nothing was done: correct the pattern, or "
                    "name the inventory with -i"
                )
        if limit := context.CLIARGS.get("subset"):
            inventory.subset(limit)
            if not inventory.get_hosts(given):
                also = f"also set {variable}, or " if variable and not known.get(variable) else ""
                raise AnsibleLookupError(
                    f"--limit {limit} leaves out all hosts of {_shown(given)!r}, so nothing was done: {also}correct "
                    "the limit, or leave it out"
                )
        return given

    def _inventory(self, variables: Mapping[str, Any]) -> InventoryManager:
        """Return the hosts and groups of the play's inventory, without its limit."""
        inventory = InventoryManager(self._loader, parse=False)
        for group, hosts in variables["groups"].items():
            inventory.add_group(group)
            for host in hosts:
                inventory.add_host(host, group=group)
        return inventory


def _shown(patterns: str | Sequence[str]) -> str:
    return patterns if isinstance(patterns, str) else ",".join(patterns)


def _is_ours() -> bool:
    """Whether a playbook of this collection was started, and not one that imports it."""
    given = context.CLIARGS.get("args") or ()
    return any(each.startswith(_COLLECTION) or Path(each).resolve().parent == _PLAYBOOKS for each in given)


def _skipping() -> Iterator[str]:
    """Yield the options of the command by which tasks without tags are skipped."""
    tags, skipped = (set(context.CLIARGS.get(each) or ()) for each in ("tags", "skip_tags"))
    if tags and not tags & _RUNS:
        yield f"--tags {','.join(sorted(tags))}"
    if skipped & _RUNS:
        yield f"--skip-tags {','.join(sorted(skipped))}"
    if task := context.CLIARGS.get("start_at_task"):
        yield f"--start-at-task {task!r}"
