# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Build the words of commands that set variables. Standard library only."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ansible_collections.kafkaops.recovery.plugins.module_utils._model.variable import set_variable

from .page import Paragraph
from .words import Result

_WHERE = ("kafka_bootstrap_servers", "kafka_command_config")
_ADDRESSES = ("kafka_bootstrap_servers", "kafka_bootstrap_controllers")
_OF_ONE_RUN = ("kafka_journal_discard_lost",)
"""What a person decides again each time."""


def carry_out(plan: str, digest: str | None) -> Paragraph:
    """Return the text before the command that carries a plan out. A plan in a file is reviewed before that."""
    review = f"Let a second person review {plan} ({digest}), then carry it out:"
    return Paragraph(review if plan and digest else "Carry it out:")


def plan_file(variables: Result, role: str) -> str:
    """Return the path of the plan that this run wrote or was given; empty if there is none."""
    return variables.get(f"{role}_manual_output_file") or variables.get(f"{role}_plan_file") or ""


def playbook_words(name: str, role: str, given: Result) -> Iterator[str]:
    """Yield the command of a playbook up to its own options. ``given`` are the variables of this run.

    Its role acts where the run acted: secrets may be known only there. ``given`` has at most one variable ROLE_hosts.
    """
    hosts = next((value for variable, value in given.items() if variable.endswith("_hosts")), None)
    yield from ("ansible-playbook", f"kafkaops.recovery.{name}")
    yield from option_words({f"{role}_hosts": hosts}, [f"{role}_hosts"])
    yield from connection_words(given)


def _addresses(given: str | list[str] | None) -> str:
    return (given if isinstance(given, str) else ",".join(given or [])).replace(" ", "")


def connection_words(given: Result) -> Iterable[str]:
    """Return the options that set how to connect, and the journal. ``given`` has no secret, and no default."""
    joined = {**given, **{name: _addresses(given.get(name)) for name in _ADDRESSES}}
    others = (name for name in joined if name.startswith("kafka_") and name not in (*_WHERE, *_OF_ONE_RUN))
    return option_words(joined, (*_WHERE, *others))


def option_words(given: Result, names: Iterable[str]) -> Iterator[str]:
    """Yield the options that set these variables, if they are given. 0 and false are values."""
    for name in names:
        value = given.get(name)
        if value is not None and value not in ("", []):
            yield from set_variable(name, value)
