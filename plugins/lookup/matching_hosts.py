# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Refuse a play that would run on no host: Ansible skips it, and its exit status is 0, which here means "yes"."""

from __future__ import annotations

DOCUMENTATION = r"""
name: matching_hosts
short_description: Fail if a pattern matches no host of the inventory
version_added: 1.0.0
description:
  - Returns the patterns, for C(hosts) of a play. Fails if no host matches them all together, or one that adds hosts.
    Ansible itself skips a play without hosts, and its exit status is 0, as if everything were in order.
  - With C(--syntax-check) it never fails, because the syntax does not depend on an inventory.
author: [the kafkaops.recovery authors (@kafkaops)]
options:
  _terms:
    description: Patterns of hosts and groups, as in C(hosts) of a play.
    required: true
"""

EXAMPLES = r"""
- name: Require that the group exists
  hosts: "{{ lookup('kafkaops.recovery.matching_hosts', my_hosts | default('kafka_controllers')) }}"
  gather_facts: false
  tasks: []
"""

RETURN = r"""
_raw:
  description: The patterns.
  type: list
  elements: str
"""

from collections.abc import Mapping, Sequence
from typing import Any

from ansible import context
from ansible.errors import AnsibleLookupError
from ansible.inventory.manager import split_host_pattern
from ansible.plugins.loader import lookup_loader
from ansible.plugins.lookup import LookupBase


class LookupModule(LookupBase):
    """See the documentation above."""

    def run(self, terms: Sequence[Any], variables: Mapping[str, Any] | None = None, **_options: Any) -> list[str]:
        given = [each for term in terms for each in ([term] if isinstance(term, str) else term)]
        if context.CLIARGS.get("syntax"):
            return given
        matching = lookup_loader.get("ansible.builtin.inventory_hostnames", loader=self._loader, templar=self._templar)
        for each in (*split_host_pattern(given), given):
            if not str(each).startswith(("!", "&")) and not matching.run(each, variables=variables):
                shown = each if isinstance(each, str) else ",".join(each)
                raise AnsibleLookupError(
                    f"no host of the inventory matches {shown!r}, so nothing was done: correct the pattern, or name "
                    "the inventory with -i"
                )
        return given
