# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The options of the journal; module_utils/_module/options.py has their argument spec."""

from __future__ import annotations


class ModuleDocFragment:
    DOCUMENTATION = r"""
options:
  journal_topic:
    description:
      - Name of the topic that has the journal. Before a run makes a temporary change, it records the change in the
        journal, so that a later run can undo it. The journal is also the lock. Only one run at a time writes to a
        cluster.
      - A run creates the topic before it writes, and deletes it when no change is pending. If the topic cannot be used,
        nothing is changed, and the error has the command that grants the missing ACLs. A topic with records of another
        party is refused.
      - The principal needs CREATE, DESCRIBE, READ, WRITE and DELETE on it. Nobody else should have WRITE, because its
        records make a run change replica orders and configs.
    type: str
    default: _kafkaops_run
  journal_discard_lost:
    description:
      - Continue although the journal of an earlier run is lost, or may have lost its last entries. It is lost if no
        replica of its topic answers. It may have lost entries if only replicas answer that were not in sync.
      - Changes that the earlier run did not undo stay.
    type: bool
    default: false
"""
