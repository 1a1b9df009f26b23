# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Expected errors become words; others stay what they are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils.glue import libraries
from ansible_collections.kafkaops.recovery.plugins.module_utils.glue.failures import run
from ansible_collections.kafkaops.recovery.plugins.module_utils.glue.refusals import all_of
from ansible_collections.kafkaops.recovery.plugins.module_utils.model.errors import KafkaOpsError
from unit.glue.fake_module import EndedError, FakeModule


def refuse(text: str) -> None:
    raise KafkaOpsError(text)


def ends(work: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    with pytest.raises(EndedError) as ended:
        run(FakeModule(), lambda _module: work())
    # Ansible would add the traceback of an error that is being handled.
    assert ended.value.__context__ is None
    return ended.value.results


def fails(error: Exception) -> Callable[..., dict[str, Any]]:
    def work(*_arguments: object) -> dict[str, Any]:
        raise error

    return work


def test_results_end_the_module() -> None:
    assert ends(lambda: {"changed": True}) == {"changed": True}


def test_results_with_a_message_fail_the_module() -> None:
    assert ends(lambda: {"msg": "1 of 2", "changed": True}) == {"msg": "1 of 2", "changed": True, "failed": True}


def test_an_expected_error_fails_the_module() -> None:
    assert ends(fails(KafkaOpsError("broker 1 is gone"))) == {"msg": "broker 1 is gone", "failed": True}


def test_a_missing_library_is_named_as_its_registry_names_it_before_anything_is_done(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(libraries, "find_spec", lambda name: None if name in ("kafka", "pyspark") else object())
    with pytest.raises(EndedError) as ended:
        run(FakeModule(), fails(AssertionError("begun")), needs=libraries.KAFKA_AND_SPARK)
    assert "kafka-python, pyspark" in ended.value.results["msg"]


def test_a_defect_is_not_hidden() -> None:
    with pytest.raises(ZeroDivisionError):
        run(FakeModule(), lambda _module: fails(ZeroDivisionError())())


def test_all_refusals_are_told_at_once() -> None:
    with pytest.raises(KafkaOpsError) as refused:
        all_of(lambda: refuse("one"), lambda: 2, lambda: refuse("three"))
    assert str(refused.value) == "one\nthree"


def test_one_refusal_stays_what_it_is() -> None:
    error = KafkaOpsError("one")

    def check() -> None:
        raise error

    with pytest.raises(KafkaOpsError) as refused:
        all_of(check)
    assert refused.value is error


def test_what_checks_return_comes_back_in_order() -> None:
    assert all_of(lambda: 1, lambda: None, lambda: "three") == [1, None, "three"]
