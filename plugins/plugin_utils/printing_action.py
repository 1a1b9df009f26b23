# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The base class of actions that print results."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Any, ClassVar

from ansible import constants, context
from ansible.plugins.action import ActionBase
from ansible.utils.display import Display
from ansible.utils.vars import load_extra_vars

from ansible_collections.kafkaops.recovery.plugins.module_utils._spark.options import is_uri

from .failing import printed_once
from .page import Block, Command, Line, Paragraph
from .rendering import is_in_awx, is_structured, is_terminal, rendered, show
from .variable_names import argument_specs

display = Display()

_PAGE_MODULE = "kafkaops.recovery.incident_report"
_PAGE_ACTION = "kafkaops.recovery.quorum_info"
"""The action that runs this module (meta/runtime.yml)."""
_VAULT = {"--vault-id": "vault_ids", "--vault-password-file": "vault_password_files"}
_FILES = {"report_file": {"type": "path"}, "page": {"type": "dict", "default": {}}}


class PrintingAction(ActionBase):
    """Prints on the Ansible controller and changes nothing. Fails after printing if ``failures`` yields a text."""

    TRANSFERS_FILES = False
    ARGUMENT_SPEC: ClassVar[dict[str, Any]]
    _supports_check_mode = True
    _supports_diff = True
    _requires_connection = False

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        result: dict[str, Any] = super().run(tmp, task_vars)
        _validation, arguments = self.validate_argument_spec(argument_spec=self.ARGUMENT_SPEC | _FILES)
        page = self._write_page(arguments["page"], task_vars)
        again = [*self._started_with()]
        blocks = [with_options(each, again) for each in self.blocks(arguments)]
        blocks += named_files(arguments["report_file"], page)
        text = rendered(blocks, display.columns, color=is_terminal(), is_stripped=is_in_awx())
        if text:
            show(text)
        failure = "; ".join(filter(None, [*self.failures(arguments), page_failure(page)]))
        if is_structured():
            result["text"] = text.splitlines()
        # For callbacks. Of a failed task, Ansible prints all else, and the text above has both.
        files = {"report_file": arguments["report_file"] or "", "html": page.get("html", "")}
        result["invocation"] = {"module_args": files}
        if not failure:
            result["verdict"] = self.verdict(arguments, blocks)
        result |= {"changed": False} | ({"failed": True, "msg": failure} if failure else {})
        return printed_once(result, self._task, task_vars or {})

    def _started_with(self) -> Iterator[tuple[str, ...]]:
        """Yield the options of ansible-playbook, each with its value, that a printed command needs as this run did.

        A secret is never printed: a person replaces the word in capitals.
        """
        if not is_in_awx():
            inventories = context.CLIARGS.get("inventory") or ()
            if [*inventories] != constants.DEFAULT_HOST_LIST:
                yield from (("-i", each) for each in inventories)
            for option, argument in _VAULT.items():
                yield from ((option, each) for each in context.CLIARGS.get(argument) or ())
            if context.CLIARGS.get("ask_vault_pass"):
                yield ("--ask-vault-pass",)
        options = argument_specs("kafka_connection")
        for name in load_extra_vars(self._loader):
            if options.get(name, {}).get("no_log"):
                yield "-e", f"{name}={name.removeprefix('kafka_').upper()}"

    def _write_page(self, page: dict[str, Any], task_vars: dict[str, Any] | None) -> dict[str, Any]:
        """Write the HTML report where the module of this role ran, if one is requested, and return the result.

        It is made without files of other file systems: these are not on this host.
        """
        if not page.get("html"):
            return {}
        task = self._task.copy()
        files = [each for each in page.get("files", ()) if each and not is_uri(each)]
        task.action, task.args = _PAGE_MODULE, {**page, "files": files}
        action = self._shared_loader_obj.action_loader.get(
            _PAGE_ACTION,
            task=task,
            connection=self._connection,
            play_context=self._play_context,
            loader=self._loader,
            templar=self._templar,
            shared_loader_obj=self._shared_loader_obj,
        )
        result: dict[str, Any] = action.run(task_vars=task_vars)
        return result

    @abstractmethod
    def blocks(self, arguments: dict[str, Any]) -> Iterable[Block]:
        """Return the blocks to print."""

    def verdict(self, _arguments: dict[str, Any], blocks: Iterable[Block]) -> str:
        """Return the sentence that says most, for a table of many clusters."""
        return next((each.text for each in blocks if isinstance(each, Paragraph)), "")

    def failures(self, _arguments: dict[str, Any]) -> Iterable[str]:
        """Return why the task fails. It does not fail if all texts are empty."""
        return ()

    @property
    def is_verbose(self) -> bool:
        """Return whether -v is given, so that single rows are printed too."""
        return bool(display.verbosity)


def with_options(block: Block, options: Sequence[tuple[str, ...]]) -> Block:
    """Return a command of ansible-playbook with more options. Another block, and an inventory to fill in, stay."""
    if not isinstance(block, Command) or block.words[0] != "ansible-playbook":
        return block
    program, playbook, *others = block.words
    added = (each for each in options if each[0] != "-i" or "-i" not in others)
    return Command((program, playbook, *chain.from_iterable(added), *others))


def named_files(report_file: str | None, page: dict[str, Any]) -> Iterator[Block]:
    """Return the paths of the report and its page. They come last, so that they are still visible in a terminal."""
    lines = [f"Report: {report_file}"] if report_file else []
    lines += [f"HTML report: {page['html']}"] if "html" in page else []
    if lines:
        yield Line("")
        yield from map(Line, lines)


def page_failure(page: dict[str, Any]) -> str:
    """Return why the page could not be written; empty if it was written or not requested."""
    if not page or "html" in page:
        return ""
    # A module that crashed returns no message if its task must not fail.
    return f"the HTML report could not be written: {page.get('msg', 'the module failed')}"
