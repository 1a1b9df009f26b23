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
      - Where the journal is kept. A run records in it what it is about to change for a while, before it changes it, so
        that a later run can put it back. It is also the lock, so that only one run at a time writes to a cluster.
      - V(topic) is the topic O(journal_topic) of the cluster itself. Every host, user and container sees it.
      - V(file) is a file in O(journal_dir). Only runs of this user on this host see it.
      - V(auto) is V(topic). Where the topic cannot be used because our principal lacks an ACL, it is V(file), with a
        warning. In a container, or where the home directory is on overlayfs or tmpfs, a file would be lost with the
        run. The module fails then, unless O(journal_dir) is set.
    type: str
    choices: [auto, topic, file]
    default: auto
  journal_topic:
    description:
      - Name of the topic. A run creates it when it begins to write, and deletes it once nothing has to be put back.
      - Our principal needs CREATE, DESCRIBE, READ, WRITE and DELETE on it. Whoever may write to it can make a run
        change replica orders and configs, so nobody else should.
    type: str
    default: _kafkaops_run
  journal_dir:
    description:
      - Directory of the file.
      - Defaults to C($XDG_STATE_HOME/kafkaops-recovery), or else to V(~/.local/state/kafkaops-recovery).
    type: path
  journal_discard_lost:
    description:
      - Go on although the journal of an earlier run is lost, because no replica of its topic is left.
      - What that run had changed and not put back stays as it is.
    type: bool
    default: false
"""
