# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""After a signal, the counts, the report and how to go on are printed, and nothing else."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.kafkaops.recovery.plugins.plugin_utils.interrupted import describe, describe_end, outlasted

LOSS = {"at_least": 5, "at_most": 5, "unbounded": 0}
RECOVERY: dict[str, Any] = {"summary": {"recovered": 1001, "failed": 99, "refused": 0}, "loss": LOSS}
_AGAIN = "Run the same command again: it repeats nothing that is done, and restores what is left."


def test_a_recovery_counts_its_partitions(tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    report.write_text("{}")
    assert describe(signal.SIGINT, RECOVERY, {"report_file": str(report)}).splitlines() == [
        "Stopped by Ctrl-C. 1,001 of 1,100 partitions recovered; 5 records were lost; 99 failed.",
        f"Report: {report}",
        _AGAIN,
    ]


@pytest.mark.parametrize(
    ("result", "text"),
    [
        ({"summary": {"reordered": 3000, "left_alone": 12, "failed": 0}}, "3,000 reordered, 12 left alone."),
        ({"failed": True, "msg": "MODULE FAILURE"}, "The module returned no result: MODULE FAILURE"),
        ({}, "The module returned no result: it was ended"),
        (
            {"failed": True, "msg": "No start of json char", "rc": 143, "module_stdout": ""},
            "The module had no result yet.",
        ),
    ],
)
def test_other_modules_say_what_they_did(result: dict[str, Any], text: str) -> None:
    assert describe(signal.SIGTERM, result, {}).splitlines() == [f"Stopped by SIGTERM. {text}", _AGAIN]


@pytest.mark.parametrize(
    ("result", "text"),
    [
        (
            {"rc": 143, "module_stdout": ""},
            "SIGTERM ended the module before it returned a result: run the same",
        ),
        ({"rc": 137, "module_stdout": '{"cha'}, "SIGKILL (the kernel sends it if memory runs out: see dmesg) ended"),
        ({"rc": 1, "module_stdout": "Traceback"}, ""),
        ({"rc": 143, "msg": "a result of the module"}, ""),
        ({"rc": 255, "module_stdout": ""}, ""),
    ],
)
def test_the_signal_that_ended_a_module_is_named(result: dict[str, Any], text: str) -> None:
    """Ansible says of each of these that no JSON was found."""
    assert describe_end(result).startswith(text)
    assert bool(describe_end(result)) == bool(text)


def test_the_report_is_read_where_the_results_were_cut_off(tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    report.write_text(json.dumps({"summary": RECOVERY["summary"], "loss": {"atLeast": 5}}))
    said = describe(signal.SIGINT, {"msg": "No end of json char found"}, {"report_file": str(report)})
    assert said.startswith("Stopped by Ctrl-C. 1,001 of 1,100 partitions recovered; 99 failed.\n")


def test_a_report_that_the_user_named_needs_another_name() -> None:
    assert "again with another unclean_recovery_report_file: " in describe(
        signal.SIGINT, RECOVERY, {}, "unclean_recovery_report_file"
    )


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_module_gets_the_signal_and_is_waited_for(number: signal.Signals) -> None:
    program = (
        "import signal, sys\n"
        "for each in (signal.SIGINT, signal.SIGTERM): signal.signal(each, lambda *_: sys.exit(3))\n"
        "print('ready', flush=True)\n"
        "while True: signal.pause()\n"
    )
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as module:
        assert module.stdout is not None
        assert module.stdout.readline() == "ready\n"
        with outlasted(lambda: module.pid) as interruption:
            os.kill(os.getpid(), number)
            assert module.wait(10) == 3
            os.kill(os.getpid(), number)
            time.sleep(0.01)
    assert interruption.number == number
    assert signal.getsignal(number) is signal.SIG_IGN, "what is printed now is complete"


@pytest.fixture(autouse=True)
def handlers() -> Any:
    """Put the handlers of signals back: in a worker, they stay ignored to its end."""
    before = {each: signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)}
    yield
    for each, handler in before.items():
        signal.signal(each, handler)


def test_without_a_signal_the_handlers_are_as_before() -> None:
    before = signal.getsignal(signal.SIGTERM)
    with outlasted(lambda: None) as interruption:
        assert signal.getsignal(signal.SIGTERM) is not before
    assert (interruption.number, signal.getsignal(signal.SIGTERM)) == (None, before)
