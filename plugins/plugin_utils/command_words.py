# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Build the words of commands that set variables. Standard library only."""

from __future__ import annotations

from collections.abc import Iterable

from ansible_collections.kafkaops.recovery.plugins.module_utils._model.variable import set_variable

from .page import Paragraph
from .words import Result


def carry_out(plan: str, digest: str | None) -> Paragraph:
    """Return the text before the command that carries a plan out. A plan in a file is reviewed before that."""
    review = f"Let a second person review {plan} ({digest}), then carry it out:"
    return Paragraph(review if plan and digest else "Carry it out:")


def servers(variables: Result) -> str:
    """Return the bootstrap servers as one word; empty if none are given."""
    given: str | list[str] = variables.get("kafka_bootstrap_servers") or ""
    return (given if isinstance(given, str) else ",".join(given)).replace(" ", "")


def option_words(given: Result, names: Iterable[str]) -> Iterable[str]:
    """Return the options that set these variables. 0 is a value: the strictest limit of lost records."""
    for name in names:
        value = given.get(name)
        if value is not None and value is not False and value not in ("", []):
            yield from set_variable(name, value)
