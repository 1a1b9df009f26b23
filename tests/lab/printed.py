# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Find every command that a document, a header or the output of a run prints, as text for a shell."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from lab.playbook import PROJECT

DOCUMENTS = (
    PROJECT / "README.md",
    *sorted((PROJECT / "docs").glob("*.md")),
    *sorted((PROJECT / "roles").glob("*/README.md")),
    *sorted((PROJECT / "extensions").glob("*/README.md")),
)
HEADERS = tuple(sorted((PROJECT / "playbooks").glob("*.yml")))
_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```", re.DOTALL | re.MULTILINE)
_INLINE = re.compile(r"`((?:ansible(?:-playbook|-doc)? [^`\n]*)?\bkafkaops\.recovery\.\w+[^`\n]*)`")
_OURS = re.compile(r"ansible(?:-playbook|-doc)? .*\bkafkaops\.recovery\.", re.DOTALL)
_FUNCTION = re.compile(r"^(\w+)\(\) \{ .*\}$", re.MULTILINE)
_PRINTED = re.compile(r"^ +(ansible-playbook kafkaops\.recovery\.(?:[^\n]*\\\n)*[^\n]*)$", re.MULTILINE)


@dataclass(frozen=True)
class Printed:
    """A command, or a block of several ones, as a person pastes it into a shell."""

    where: str
    text: str


def printed_in(document: Path) -> list[Printed]:
    """Return the commands of a Markdown document, in order: its blocks for a shell, then commands within sentences.

    A block that calls a function begins with the earlier block that defines it.
    """
    text, where = document.read_text(encoding="utf-8"), str(document.relative_to(PROJECT))
    found: list[str] = []
    functions: dict[str, str] = {}
    for language, block in _BLOCK.findall(text):
        if language not in ("", "console", "sh", "bash"):
            continue
        defined = dict.fromkeys(_FUNCTION.findall(block), block)
        functions |= defined
        for command in () if defined else _commands_of(_typed_lines(block) if language == "console" else block):
            name = command.partition(" ")[0]
            if name in functions:
                found.append(functions[name] + command)
            elif _OURS.match(command):
                found.append(command)
    found += [_completed(each) for each in _INLINE.findall(_BLOCK.sub("", text)) if _is_command(each)]
    return [Printed(where, each) for each in dict.fromkeys(found)]


def printed_in_header(playbook: Path) -> Printed:
    """Return the command of a playbook's header."""
    header = playbook.read_text(encoding="utf-8").split("\n- ")[0]
    lines = [each.removeprefix("# ") for each in header.splitlines() if each.startswith("# ")]
    (start,) = (place for place, line in enumerate(lines) if line.startswith("ansible-playbook "))
    command = []
    for line in lines[start:]:
        command.append(line)
        if not line.endswith("\\"):
            break
    return Printed(str(playbook.relative_to(PROJECT)), "\n".join(command))


def printed_by(output: str) -> list[str]:
    """Return the commands in the output of a run, as a person copies them."""
    return [textwrap.dedent(each) for each in _PRINTED.findall(output)]


def _typed_lines(console: str) -> str:
    """Return what a person typed, without the prompts and the output."""
    lines: list[str] = []
    is_typed = False
    for line in console.splitlines():
        is_typed = line.startswith("$ ") or (is_typed and lines[-1].endswith("\\"))
        if is_typed:
            lines.append(line.removeprefix("$ "))
    return "\n".join(lines) + "\n"


def _commands_of(block: str) -> Iterator[str]:
    """Yield each line of a block, with the lines that continue it. What a run printed is indented, and left out."""
    for line in block.replace("\\\n", "\0").splitlines():
        if not line.startswith(" "):
            yield line.replace("\0", "\\\n").strip()


def _is_command(inline: str) -> bool:
    """Return whether it is a whole command, not the name of a playbook or a pattern with a name in brackets."""
    return "<" not in inline and "..." not in inline and (inline.startswith("ansible") or " -" in inline)


def _completed(inline: str) -> str:
    return inline if inline.startswith("ansible") else f"ansible-playbook {inline}"
