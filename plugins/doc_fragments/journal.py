# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The options of the journal; module_utils/_module/options.py has their argument spec."""

from __future__ import annotations


class ModuleDocFragment:
    DOCUMENTATION = r"""
options:
  journal:
    description:
      - Where the journal is stored. Before a run makes a temporary change, it records the change in the journal, so
        that a later run can undo it. The journal is also the lock. Only one run at a time writes to a cluster.
      - V(topic) is the topic O(journal_topic) of the cluster itself. Every host, user and container can use it.
      - V(file) is a file in O(journal_dir). Only runs of this user on this host can use it.
      - V(auto) is V(topic). If the topic cannot be used because the principal lacks an ACL, it is V(file), with a
        warning. In a container, or if the home directory is on overlayfs or tmpfs, a file would be lost after the run.
        In that case the module fails unless O(journal_dir) is set.
    type: str
    choices: [auto, topic, file]
    default: auto
  journal_topic:
    description:
      - Name of the topic. A run creates it before it writes, and deletes it when no change is pending.
      - The principal needs CREATE, DESCRIBE, READ, WRITE and DELETE on it. Nobody else should have WRITE, because its
        records make a run change replica orders and configs.
    type: str
    default: _kafkaops_run
  journal_dir:
    description:
      - Directory of the file.
      - Defaults to C($XDG_STATE_HOME/kafkaops-recovery), or else to V(~/.local/state/kafkaops-recovery).
    type: path
  journal_discard_lost:
    description:
      - Continue although the journal of an earlier run is lost, or may have lost its last entries. It is lost if no
        replica of its topic answers. It may have lost entries if only replicas answer that were not in sync.
      - Changes that the earlier run did not undo stay.
    type: bool
    default: false
"""
