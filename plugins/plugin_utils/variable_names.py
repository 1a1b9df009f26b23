# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Name a module's options in its messages as the user typed them: as variables of the role that runs the module.

A module does not know which role runs it, if any. Its messages name its own options.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import yaml

_ROLES = Path(__file__).parents[2] / "roles"
_SHARED = "kafka_"
_TEXTS = frozenset(
    {
        *("msg", "warnings", "reason", "reasons", "cause", "remedy", "explanation", "notes", "report_fault"),
        *("text", "changes", "found", "meaning", "loss", "unidentified_marks", "publish_fault", "refusals"),
    }
)
"""The keys of a result whose texts a person reads. Everything else is data."""


@lru_cache
def argument_specs(role: str) -> dict[str, Any]:
    """Return the options of a role's argument specs.

    Their entry point is one that no tasks have. Otherwise Ansible itself checked them, before the role does: it
    refuses spellings that the role reads, and prints the whole argument spec.
    """
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    text = (_ROLES / role / "meta" / "argument_specs.yml").read_text(encoding="utf-8")
    options: dict[str, Any] = yaml.load(text, loader)["argument_specs"]["variables"]["options"]
    return options


def every_role() -> list[str]:
    """Return the roles that have variables of their own."""
    return sorted(each.name for each in _ROLES.iterdir() if each.name != "kafka_connection")


def variables_of(role: str) -> dict[str, str]:
    """Return the variable of each module option that a role passes on."""
    own, shared = argument_specs(role), argument_specs("kafka_connection")
    names = {each.removeprefix(_SHARED): each for each in shared} | {
        each.removeprefix(f"{role}_"): each for each in own
    }
    # The modules of a recovery call them so, because they take other strategies and times, too.
    names |= {f"recovery_{short}": each for short, each in names.items() if each in own}
    return names


def name_variables(result: dict[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    """Return a result whose texts name variables in place of the module's options."""
    pattern = _pattern(frozenset(names))
    return {key: _named(value, names, pattern, is_text=key in _TEXTS) for key, value in result.items()}


def _named(value: Any, names: Mapping[str, str], pattern: re.Pattern[str], *, is_text: bool) -> Any:
    if isinstance(value, str):
        return (
            pattern.sub(lambda match: names[match["option"] or match["again"] or match["word"]], value)
            if is_text
            else value
        )
    if isinstance(value, list):
        return [_named(each, names, pattern, is_text=is_text) for each in value]
    if is_text and isinstance(getattr(getattr(value, "event", None), "msg", None), str):
        # From ansible-core 2.19 on, a warning is an object with its text.
        return replace(value, event=replace(value.event, msg=_named(value.event.msg, names, pattern, is_text=True)))
    if isinstance(value, dict):
        return {key: _named(each, names, pattern, is_text=key in _TEXTS) for key, each in value.items()}
    return value


@lru_cache
def _pattern(options: Collection[str]) -> re.Pattern[str]:
    """Match an option, with the words in brackets that name the role's variable, or after the variable itself.

    An option without an underscore is an ordinary word, such as partitions: only before "is refused" or "is empty" it
    is one.
    """
    option = "|".join(sorted((each for each in options if "_" in each), key=len, reverse=True))
    word = "|".join(each for each in options if "_" not in each)
    begin, end = r"(?<![\w./:-])", r"(?![\w/-]|\.\w)"
    of_role = r"(?: \((?:in a|of the|of a) role: [^)]*\))?"
    refused = rf"(?m:^)(?P<word>{word})(?= is refused(?:: | at )| is empty: )"
    return re.compile(rf"\w+_(?P<again>{option}) \((?P=again)\)|{begin}(?P<option>{option}){end}{of_role}|{refused}")
