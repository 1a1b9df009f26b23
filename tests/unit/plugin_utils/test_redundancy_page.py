# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The printed command copies replicas in the way that was looked at."""

from __future__ import annotations

from ansible_collections.kafkaops.recovery.plugins.plugin_utils import redundancy_page
from unit.roles.role import options

_OF_ONE_RUN = {
    *("redundancy_manual_output_file", "redundancy_plan_file", "redundancy_plan_digest", "redundancy_ignore_quorum"),
    *("redundancy_automated_recovery", "redundancy_report_file", "redundancy_report_html"),
}
"""What a person decides again each time, and files that must not exist."""


def test_the_command_keeps_every_option_that_was_given() -> None:
    kept = {each for each in options("redundancy") if each.startswith("redundancy_")} - _OF_ONE_RUN
    words = [*redundancy_page.command(dict.fromkeys(kept, "1"))]
    assert {each.partition("=")[0] for each in words if each.startswith("redundancy_")} == {
        *kept,
        "redundancy_automated_recovery",
    }
