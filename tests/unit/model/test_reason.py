# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Reasons keep their kinds and values until they are printed."""

from __future__ import annotations

import copy
import json

from ansible_collections.kafkaops.recovery.plugins.module_utils._model.reason import (
    ClauseKind,
    as_kind,
    because,
    causes_of,
    clauses_of,
    likeness,
    merge,
    say,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.reasons import common_reason


def test_a_reason_is_its_text() -> None:
    reason = because(
        "as scripted",
        "",
        None,
        say("{brokers} of the {where} lead {n} of {all}", brokers=[1, 4], where="ISR", n=2, all=[7]),
    )
    assert reason == "as scripted; brokers 1, 4 of the ISR lead 2 of [7]"
    assert json.loads(json.dumps({"reason": reason})) == {"reason": str(reason)}
    assert clauses_of(copy.deepcopy(reason)) == clauses_of(reason)


def test_braces_in_a_text_are_no_values() -> None:
    """What a broker answered is text, whatever is in it."""
    assert because("{0} {broker}", say("it said {error}", error="{1}")) == "{0} {broker}; it said {1}"
    assert merge(["{0}", "{0}"]) == "{0}"


def test_rank_and_loss_are_told_from_causes_by_kind_not_by_words() -> None:
    reason = because(
        as_kind(ClauseKind.RANK, "broker 3, rank 1"), say("loses nothing"), as_kind(ClauseKind.LOSS, "loses nothing")
    )
    assert reason == "broker 3, rank 1; loses nothing; loses nothing"
    assert causes_of(reason) == "loses nothing"
    assert causes_of("a plain text") == "a plain text"


def test_only_values_of_the_same_form_are_merged() -> None:
    ends = [
        say("broker {broker} ends at {end}, order {order}", broker=b, end=e, order=[b, 9])
        for b, e in ((1, 15), (4, 340), (1, 20))
    ]
    assert common_reason(ends) == "broker 1 or 4 ends at 15 to 340, order [1, 9] or [4, 9]"
    assert common_reason([*ends, "broker 1 ends"]).endswith(", and 1 other reason")
    # The same words with another meaning: a version is no offset.
    assert common_reason(["Kafka 4.3.1 at 10.0.0.1:9092", "Kafka 4.3.2 at 10.0.0.1:9092"]).endswith("1 other reason")


def test_many_values_are_counted() -> None:
    assert (
        merge([say("{brokers} fenced", brokers=[each, 9]) for each in range(1, 7)]) == "brokers 1, 9 or 5 others fenced"
    )
    assert merge([say("broker {broker} leads", broker=each) for each in range(6)]) == "broker 0 or 5 others leads"


def test_likeness_keeps_brokers_apart_if_wanted() -> None:
    one, other = (say("broker {broker} ends at {end}", broker=each, end=each) for each in (1, 2))
    assert likeness(one, with_brokers=False) == likeness(other, with_brokers=False)
    assert likeness(one, with_brokers=True) != likeness(other, with_brokers=True)
    assert likeness("a", with_brokers=False) != likeness("b", with_brokers=False)
