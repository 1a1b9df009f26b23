# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A summary names the report and its page, and fails when the page could not be written."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.kafkaops.recovery.plugins.plugin_utils.page import Command, Line
from ansible_collections.kafkaops.recovery.plugins.plugin_utils.printing_action import (
    named_files,
    page_failure,
    with_options,
)
from ansible_collections.kafkaops.recovery.plugins.plugin_utils.rendering import rendered

_PATH = "/srv/" + "incidents/" * 20 + "report.html"


def test_paths_are_not_wrapped() -> None:
    text = rendered(named_files(_PATH, {"html": _PATH}), 80, color=False)
    assert text.splitlines() == [f"Report: {_PATH}", f"HTML report: {_PATH}"]


@pytest.mark.parametrize(
    ("page", "failure"),
    [
        ({}, ""),
        ({"html": _PATH}, ""),
        ({"msg": "disk full"}, "the HTML report could not be written: disk full"),
        (
            {"failed": False, "failed_when_suppressed_exception": "?"},
            "the HTML report could not be written: the module failed",
        ),
    ],
)
def test_a_page_that_could_not_be_written_fails_the_role(page: dict[str, Any], failure: str) -> None:
    assert page_failure(page) == failure


def test_a_printed_command_is_started_as_this_run_was() -> None:
    options = [("-i", "/srv/hosts"), ("--vault-id", "prod@prompt"), ("-i", "kafka1,")]
    look = Command(("ansible-playbook", "kafkaops.recovery.check_stop", "-e", "a=b"))
    words = ("-i", "/srv/hosts", "--vault-id", "prod@prompt", "-i", "kafka1,")
    assert with_options(look, options) == Command(
        ("ansible-playbook", "kafkaops.recovery.check_stop", *words, "-e", "a=b")
    )
    to_fill_in = Command(("ansible-playbook", "kafkaops.recovery.salvage_logs", "-i", "INVENTORY"))
    assert with_options(to_fill_in, options) == Command(
        ("ansible-playbook", "kafkaops.recovery.salvage_logs", "--vault-id", "prod@prompt", "-i", "INVENTORY")
    )
    for block in (Line("text"), Command(("kafka-acls.sh", "--list"))):
        assert with_options(block, options) is block
