# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Print the outcome of a replay. Standard library only."""

from __future__ import annotations

from collections.abc import Iterator

from ansible_collections.kafkaops.recovery.plugins.module_utils._salvage.replayed import describe_left_out

from .account_page import account_blocks
from .page import Block, Paragraph
from .salvage_page import partition_entries
from .words import Result, counted, printable, size, words

_QUIET = ("nothing_left", "given_back")
"""Statuses without an entry of their own: the account has their numbers."""
_WHERE = {"side": "side topics (TOPIC.salvaged)", "original": "the topics that they came from"}


def blocks(result: Result) -> Iterator[Block]:
    """Return all blocks: the verdict, the account, and each partition that a person must check."""
    yield Paragraph(_verdict(result), "bold")
    yield from account_blocks(result["account"])
    listed = [each for each in result["partitions"] if each["status"] not in _QUIET or each["left_out"]]
    yield from partition_entries(listed, _lines)


def _verdict(result: Result) -> str:
    summary = result["summary"]
    if summary["statuses"].get("would_be_given_back"):
        done = f"{summary['to_give']:,} would be given back"
    else:
        given = summary["given"]
        done = f"{given:,} ({size(summary['given_bytes'])}) {'was' if given == 1 else 'were'} given back"
    before = f", and {summary['given_before']:,} before" if summary["given_before"] else ""
    left_out = describe_left_out(summary["left_out"])
    rest = f"; left out: {left_out}" if left_out else ""
    return f"Of {counted(summary['saved'], 'saved record')}, {done} to {_WHERE[result['target']]}{before}{rest}."


def _lines(each: Result) -> Iterator[str]:
    reason = f": {printable(each['reason'])}" if each["reason"] else ""
    yield f"{words(each['status'])}{reason}"
    if each["given"]:
        yield f"{counted(each['given'], 'record')}, {size(each['given_bytes'])}, given back to {each['target_topic']}"
    elif each["to_give"]:
        yield f"{counted(each['to_give'], 'record')} for {each['target_topic']}"
    if each["given_before"]:
        yield f"{counted(each['given_before'], 'record')} given back before"
    left_out = describe_left_out(each["left_out"])
    if left_out:
        yield f"left out: {left_out}"
