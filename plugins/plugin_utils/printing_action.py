# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The base class of actions that print results."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator
from typing import Any, ClassVar

from ansible.plugins.action import ActionBase
from ansible.utils.display import Display

from .failing import printed_once
from .page import Block, Line, Paragraph
from .rendering import is_in_awx, is_structured, is_terminal, rendered, show

display = Display()

_FILES = {"report_file": {"type": "path"}, "page": {"type": "dict", "default": {}}}


class PrintingAction(ActionBase):
    """Prints on the Ansible controller and changes nothing. Fails after printing if ``failure`` returns a text."""

    TRANSFERS_FILES = False
    ARGUMENT_SPEC: ClassVar[dict[str, Any]]
    _supports_check_mode = True
    _supports_diff = True
    _requires_connection = False

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        result: dict[str, Any] = super().run(tmp, task_vars)
        _validation, arguments = self.validate_argument_spec(argument_spec=self.ARGUMENT_SPEC | _FILES)
        blocks = [*self.blocks(arguments), *named_files(arguments)]
        text = rendered(blocks, display.columns, color=is_terminal(), is_stripped=is_in_awx())
        if text:
            show(text)
        failure = "; ".join(filter(None, [self.failure(arguments), page_failure(arguments["page"])]))
        if is_structured():
            result["text"] = text.splitlines()
        result["verdict"] = next((each.text for each in blocks if isinstance(each, Paragraph)), failure)
        result |= {"report_file": arguments["report_file"] or "", "html": arguments["page"].get("html", "")}
        return printed_once(result | {"changed": False} | ({"failed": True, "msg": failure} if failure else {}))

    @abstractmethod
    def blocks(self, arguments: dict[str, Any]) -> Iterable[Block]:
        """Return the blocks to print."""

    def failure(self, _arguments: dict[str, Any]) -> str:
        """Return why the task fails; empty if it does not fail."""
        return ""

    @property
    def is_verbose(self) -> bool:
        """Return whether -v is given, so that single rows are printed too."""
        return bool(display.verbosity)


def named_files(arguments: dict[str, Any]) -> Iterator[Block]:
    """Return the paths of the report and its page. They come last, so that they are still visible in a terminal."""
    lines = [f"Report: {arguments['report_file']}"] if arguments["report_file"] else []
    lines += [f"HTML report: {arguments['page']['html']}"] if "html" in arguments["page"] else []
    if lines:
        yield Line("")
        yield from map(Line, lines)


def page_failure(page: dict[str, Any]) -> str:
    """Return why the page could not be written; empty if it was written or not requested."""
    if not page or "html" in page or page.get("skipped"):
        return ""
    # A module that crashed returns no message if its task must not fail.
    return f"the HTML report could not be written: {page.get('msg', 'the module failed')}"
