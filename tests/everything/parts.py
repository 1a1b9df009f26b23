# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The parts of ``make test-all``: targets of the Makefile, and the broker tests of a directory on one Kafka version."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from lab import versions
from lab.playbook import PROJECT

TARGETS = (
    "lint",
    "sanity",
    "galaxy",
    "release-check",
    "unit",
    "molecule",
    "demo",
    "docs",
    "test-ansible",
    "test-extensions",
    "kerberos",
    "mutants",
)
_BROKERS = PROJECT / "tests" / "integration"
_OF_A_TARGET = {"kerberos"}
_MUTANTS = (
    "ONLY=candidate preconditions decide decide_again forecast diagnosis promise min_isr sender _leadership/orders "
    "held_again markers"
)


@dataclass(frozen=True, slots=True)
class Part:
    """A part that runs, passes or fails, and is resumed as a whole."""

    name: str
    command: tuple[str, ...]
    """Run in the project's directory. Its first word is a program of the virtual environment, or ``make``."""
    kafka_version: str = ""
    """Empty if the part chooses its own."""

    @property
    def is_pytest(self) -> bool:
        """Whether it can report what it ran as JUnit XML."""
        return self.command[0] == "pytest"

    def __str__(self) -> str:
        return "-".join(filter(None, (self.name, self.kafka_version)))


def list_parts() -> Iterator[Part]:
    """Return every part: first what is short, then the tests on brokers, the first version first."""
    for target in TARGETS:
        more = (_MUTANTS,) if target == "mutants" else ()
        yield Part(target, ("make", "--no-print-directory", target, "WIDE=yes", *more))
    first, *others = sorted(versions.KAFKA, key=lambda each: each != versions.DEFAULT)
    names = sorted(each.parent.name for each in _BROKERS.glob("*/test_*.py"))
    for version in (first, *others):
        for name in dict.fromkeys(names):
            if name not in _OF_A_TARGET:
                yield Part(name, (*_on_brokers(name), *_only_on(version, first)), version)


def _on_brokers(name: str) -> tuple[str, ...]:
    return ("pytest", str(_BROKERS.relative_to(PROJECT) / name), "--wide")


def _only_on(version: str, first: str) -> tuple[str, ...]:
    """Return the options for one version's tests. Those that are the same on any are the first version's."""
    if version == first:
        return (f"--kafka-version={version}",)
    return (f"--kafka-version={first}", f"--kafka-version={version}", f"-k={version}")
