# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Sum up a play over many clusters, also where it failed on all of them: tasks could not do that."""

from __future__ import annotations

DOCUMENTATION = r"""
name: fleet
type: aggregate
short_description: Sum up a play over many clusters
version_added: 1.0.0
description:
  - Prints one table after a play of this collection that ran on several hosts, with the verdict of each cluster.
    Clusters that need somebody come first.
  - Writes the same as one HTML page, with links to the pages of the clusters.
  - After a play on one host it prints nothing.
author: [the kafkaops.recovery authors (@kafkaops)]
requirements: [C(callbacks_enabled=kafkaops.recovery.fleet) in ansible.cfg]
options:
  html_dir:
    description:
      - Directory for the HTML pages, one of each play. A relative path starts at the directory in which the command was
        started. It must exist.
      - Without it, no page is written.
    type: str
    default: ""
    env: [{name: KAFKAOPS_FLEET_HTML_DIR}]
    ini: [{section: callback_fleet, key: html_dir}]
"""

import os
from datetime import UTC, datetime
from typing import Any

from ansible.executor.stats import AggregateStats
from ansible.plugins.callback import CallbackBase
from ansible.utils.display import Display

from ansible_collections.kafkaops.recovery.plugins.module_utils._documents.errors import DocumentError
from ansible_collections.kafkaops.recovery.plugins.module_utils._documents.files import write_new_file
from ansible_collections.kafkaops.recovery.plugins.module_utils._report.fleet import ClusterSummary, build_fleet_page
from ansible_collections.kafkaops.recovery.plugins.module_utils._report.template import render_html
from ansible_collections.kafkaops.recovery.plugins.plugin_utils.fleet import Fleet, blocks
from ansible_collections.kafkaops.recovery.plugins.plugin_utils.rendering import is_terminal, rendered, show

display = Display()

_OF_CONTROLLERS = "kafkaops.recovery.quorum_recovery"
"""The role whose hosts are the controllers of one cluster."""


class CallbackModule(CallbackBase):
    """See the documentation above. Ansible calls the methods by their names."""

    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "aggregate"
    CALLBACK_NAME = "kafkaops.recovery.fleet"
    CALLBACK_NEEDS_ENABLED = True

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._fleet = Fleet()

    def v2_runner_on_ok(self, result: Any) -> None:
        """Note what a task of this collection says of a cluster."""
        if self._is_of_cluster(result):
            self._fleet.note(*_parts(result))

    def v2_runner_on_failed(self, result: Any, ignore_errors: bool = False) -> None:
        """Note why the play failed on a host."""
        if not ignore_errors and self._is_of_cluster(result):
            self._fleet.note_failure(*_parts(result))

    def v2_runner_on_unreachable(self, result: Any) -> None:
        """Note that Ansible could not reach a host."""
        host, _action, content = _parts(result)
        if self._is_of_cluster(result):
            self._fleet.note_unreachable(host, content)

    def _is_of_cluster(self, result: Any) -> bool:
        """Return whether the host of a task stands for a cluster."""
        role = getattr(_task(result), "_role", None)
        if role is None or role.get_name() != _OF_CONTROLLERS:
            return True
        self._fleet.leave_out(_parts(result)[0])
        return False

    def v2_playbook_on_stats(self, stats: AggregateStats) -> None:
        """Print the table, and write the page."""
        clusters = self._fleet.clusters(stats.processed)
        if len(clusters) <= 1:
            return
        show(rendered(blocks(clusters), display.columns, color=is_terminal()))
        if directory := self.get_option("html_dir"):
            self._write_page(clusters, os.path.abspath(os.path.expanduser(directory)))

    def _write_page(self, clusters: tuple[ClusterSummary, ...], directory: str) -> None:
        path = os.path.join(directory, f"clusters-{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{os.getpid()}.html")
        try:
            write_new_file(path, render_html(build_fleet_page(clusters, directory)))
        except DocumentError as error:
            # A callback cannot fail a play.
            display.warning(str(error))
        else:
            show(f"HTML page of all clusters: {path}")


def _task(result: Any) -> Any:
    """Return the task of a result. The names of its parts have been public since 2.19."""
    return getattr(result, "task", None) or result._task


def _parts(result: Any) -> tuple[str, str, dict[str, Any]]:
    """Return the host, the full name of the action, and what it returned."""
    host = getattr(result, "host", None) or result._host
    task = _task(result)
    content = result.result if hasattr(result, "result") else result._result
    return host.get_name(), task.resolved_action or task.action, content
