# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Work in a thread that nobody has to wait for. Standard library only."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

Result = TypeVar("Result")


def in_background(work: Callable[[], Result], name: str) -> Future[Result]:
    """Begin work in a thread of this name, and return what it will return or raise.

    The thread is a daemon, unlike those of a pool: a process that is done, or asked to end, does not wait for it.
    """
    answer: Future[Result] = Future()

    def run() -> None:
        try:
            answer.set_result(work())
        except BaseException as error:  # noqa: BLE001 - whatever it is, it is raised where the result is wanted
            answer.set_exception(error)

    threading.Thread(target=run, name=name, daemon=True).start()
    return answer
