# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Expected errors become words; others stay what they are."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from ansible.module_utils.testing import patch_module_args

from ansible_collections.kafkaops.recovery.plugins.module_utils.glue import libraries
from ansible_collections.kafkaops.recovery.plugins.module_utils.glue.failures import run
from ansible_collections.kafkaops.recovery.plugins.module_utils.glue.refusals import all_of
from ansible_collections.kafkaops.recovery.plugins.module_utils.model.errors import KafkaOpsError
from ansible_collections.kafkaops.recovery.plugins.modules import leader_candidate_info
from unit.glue.fake_module import EndedError, FakeModule

_MODULE_UTILS = Path(libraries.__file__).parents[1]
_PACKAGE = "ansible_collections.kafkaops.recovery.plugins.module_utils"
_SIGNALS = {
    "kafka.bulk.UnusualAnswerError",  # never leaves its room: kafka-python reads such an answer instead
    "kafka.oauth._RefusedError",  # never leaves its room: it is told as kafka-python's own authentication failure
}


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


def error_classes() -> Iterator[tuple[str, type[BaseException]]]:
    """Every exception class of module_utils, by room, file and name."""
    for file in sorted(_MODULE_UTILS.rglob("*.py")):
        room = ".".join(file.relative_to(_MODULE_UTILS).with_suffix("").parts)
        for name, each in vars(import_module(f"{_PACKAGE}.{room}")).items():
            if isinstance(each, type) and issubclass(each, BaseException) and each.__module__ == f"{_PACKAGE}.{room}":
                yield f"{room}.{name}", each


def test_every_error_of_ours_is_one_that_ends_a_module_in_words() -> None:
    classes = dict(error_classes())
    assert "pipeline.java.SparkUnavailableError" in classes
    assert {name for name, each in classes.items() if not issubclass(each, KafkaOpsError)} == _SIGNALS


def test_a_mistyped_evidence_path_fails_the_module_in_words(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = {"evidence": str(tmp_path / "evidnce"), "_ansible_remote_tmp": str(tmp_path)}
    with patch_module_args(arguments), pytest.raises(SystemExit):
        leader_candidate_info.main()
    results = json.loads(capsys.readouterr().out)
    assert results["failed"]
    assert results["msg"].startswith(f"{tmp_path}/evidnce/replica_logs.parquet is missing: this is no evidence")
    assert "exception" not in results


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
