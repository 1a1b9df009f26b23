# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""How work that takes longer than a few seconds says how far it is. Standard library only."""

from __future__ import annotations

from typing import Protocol


class Progress(Protocol):
    """Is told each step. Telling it never fails, and never waits."""

    def step(self, text: str, done: int | None = None, total: int | None = None) -> None:
        """``text`` names what goes on now; ``done`` of ``total`` things of it are behind us, where that is known."""


class NullProgress:
    """Tells nobody."""

    def step(self, text: str, done: int | None = None, total: int | None = None) -> None:
        """Does nothing."""
