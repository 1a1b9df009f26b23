# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""AWX as data agrees with the roles and playbooks."""

from __future__ import annotations

from publish import surveys


def test_the_surveys_are_those_of_the_argument_specs() -> None:
    assert surveys.FILE.read_text(encoding="utf-8") == surveys.render(), "run `make surveys`"
