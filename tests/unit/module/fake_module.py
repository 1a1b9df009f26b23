# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The parts of AnsibleModule that a run uses."""

from __future__ import annotations

from typing import Any, NoReturn


class EndedError(Exception):
    """The module ended, with these results."""

    def __init__(self, results: dict[str, Any]) -> None:
        super().__init__(results)
        self.results = results


class FakeModule:
    def __init__(self, **params: Any) -> None:
        self.params = params
        self.no_log_values: set[str] = set()

    def exit_json(self, **results: Any) -> NoReturn:
        raise EndedError(results)

    def fail_json(self, **results: Any) -> NoReturn:
        raise EndedError({**results, "failed": True})
