# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The base of actions that print results for a person."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator
from typing import Any, ClassVar

from ansible.plugins.action import ActionBase
from ansible.utils.display import Display

from .page import Block, Line
from .rendering import rendered
from .terminal import is_terminal

display = Display()

_FILES = {"report_file": {"type": "path"}, "page": {"type": "dict", "default": {}}}


class PrintingAction(ActionBase):
    """Runs on the controller and changes nothing. Fails after printing, when ``failure`` says so."""

    TRANSFERS_FILES = False
    ARGUMENT_SPEC: ClassVar[dict[str, Any]]
    _supports_check_mode = True
    _supports_diff = True
    _requires_connection = False

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        result: dict[str, Any] = super().run(tmp, task_vars)
        _validation, arguments = self.validate_argument_spec(argument_spec=self.ARGUMENT_SPEC | _FILES)
        blocks = [*self.blocks(arguments), *named_files(arguments)]
        text = rendered(blocks, display.columns, color=is_terminal())
        if text:
            display.display(text)
        failure = "; ".join(filter(None, [self.failure(arguments), page_failure(arguments["page"])]))
        return result | {"changed": False} | ({"failed": True, "msg": failure} if failure else {})

    @abstractmethod
    def blocks(self, arguments: dict[str, Any]) -> Iterable[Block]:
        """Return what to print."""

    def failure(self, _arguments: dict[str, Any]) -> str:
        """Why the task fails; empty when it does not."""
        return ""

    @property
    def is_verbose(self) -> bool:
        """True with -v: single rows are printed too."""
        return bool(display.verbosity)


def named_files(arguments: dict[str, Any]) -> Iterator[Block]:
    """Where the report and its page are. They come last: that is what a terminal still shows."""
    lines = [f"Report: {arguments['report_file']}"] if arguments["report_file"] else []
    lines += [f"HTML report: {arguments['page']['html']}"] if "html" in arguments["page"] else []
    if lines:
        yield Line("")
        yield from map(Line, lines)


def page_failure(page: dict[str, Any]) -> str:
    """Why the page could not be written; empty when it was, and when nobody asked for it."""
    if not page or "html" in page or page.get("skipped"):
        return ""
    # A module that crashed leaves no message where the task must not fail.
    return f"the HTML report could not be written: {page.get('msg', 'the module failed')}"
