# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Expected errors become clear messages; other exceptions are raised."""

from __future__ import annotations

import errno
import json
import os
import platform
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from ansible.module_utils.testing import patch_module_args

from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.errors import (
    BrokerCallError,
    NoBrokerAnswersError,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import Cause
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.run import KafkaOpsError
from ansible_collections.kafkaops.recovery.plugins.module_utils._module import libraries, python
from ansible_collections.kafkaops.recovery.plugins.module_utils._module.run import call_all, run
from ansible_collections.kafkaops.recovery.plugins.modules import leader_candidate_info
from unit.module.fake_module import EndedError, FakeModule

_PROJECT = Path(__file__).resolve().parents[3]
_MODULE_UTILS = Path(libraries.__file__).parents[1]
_PACKAGE = "ansible_collections.kafkaops.recovery.plugins.module_utils"
_SIGNALS = {
    "_kafka.bulk.UnusualAnswerError",  # never leaves its package: kafka-python reads such an answer instead
}


def refuse(text: str) -> None:
    raise KafkaOpsError(text)


def ends(work: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    with pytest.raises(EndedError) as ended:
        run(FakeModule(), lambda _module: work())
    # Ansible would add the traceback of an error that is being handled.
    assert ended.value.__context__ is None
    return ended.value.results


def test_a_password_in_an_address_or_a_url_is_hidden_in_results() -> None:
    module = FakeModule(
        bootstrap_servers=["us:t0p@k:9092", "k:9092"],
        url="https://us:s3cret@issuer/x",
        principal="ops/k@REALM",
        count=1,
    )
    with pytest.raises(EndedError):
        run(module, lambda _module: {})
    assert module.no_log_values == {"us:t0p", "us:s3cret"}


def fails(error: Exception) -> Callable[..., dict[str, Any]]:
    def work(*_arguments: object) -> dict[str, Any]:
        raise error

    return work


def test_results_end_the_module() -> None:
    assert ends(lambda: {"changed": True}) == {"changed": True}


@pytest.mark.parametrize(
    ("is_other_kafka", "remedy"),
    [
        (False, "Check bootstrap_servers, the credentials and the network, or start one of these brokers"),
        (True, "Migrate the cluster to KRaft, or upgrade it"),
    ],
)
def test_what_to_do_is_named_where_no_broker_answers(is_other_kafka: bool, remedy: str) -> None:
    refused = BrokerCallError("kafka1:9092", Cause.UNREACHABLE, "connection refused", is_other_kafka=is_other_kafka)
    results = ends(fails(NoBrokerAnswersError("DescribeCluster", [refused])))
    text = "no broker answered DescribeCluster: kafka1:9092: unreachable: connection refused"
    assert results["msg"].startswith(f"{text}. {remedy}")


def test_results_with_a_message_fail_the_module() -> None:
    assert ends(lambda: {"msg": "1 of 2", "changed": True}) == {"msg": "1 of 2", "changed": True, "failed": True}


def test_kafkaops_error_fails_the_module() -> None:
    assert ends(fails(KafkaOpsError("broker 1 is gone"))) == {"msg": "broker 1 is gone", "failed": True}


def test_a_path_that_the_file_system_refuses_fails_the_module_without_a_traceback() -> None:
    """For example a recordings directory that only another user may search: Path.is_file raises then."""
    refused = PermissionError(errno.EACCES, "Permission denied", "/srv/secret/meta.properties")
    said = f"/srv/secret/meta.properties: Permission denied (for uid {os.geteuid()}): check the path and its rights"
    assert ends(fails(refused)) == {"msg": said, "failed": True}
    with pytest.raises(ConnectionResetError):
        run(FakeModule(), fails(ConnectionResetError(errno.ECONNRESET, "Connection reset by peer")))


def test_a_missing_library_is_named_as_its_registry_names_it_before_anything_is_done(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in ("kafka", "pyspark"):
        monkeypatch.setitem(sys.modules, name, None)  # as if it were not installed
    old = tmp_path / "pyarrow-19.0.1.dist-info" / "METADATA"
    old.parent.mkdir()
    old.write_text("Name: pyarrow\nVersion: 19.0.1\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(EndedError) as ended:
        run(FakeModule(), fails(AssertionError("begun")), needs=libraries.KAFKA_AND_SPARK)
    message = ended.value.results["msg"]
    assert message.startswith(f"{sys.executable} (Python {platform.python_version()}) on {platform.node()}")
    assert "lacks kafka-python 3.0 or later (not installed), pyarrow 20 or later (found 19.0.1), pyspark 4.1" in message
    assert "-m pip install 'kafka-python>=3.0' 'pyarrow>=20' 'pyspark>=4.1')" in message


def test_the_required_versions_are_those_of_the_requirements_file() -> None:
    lines = (_PROJECT / "meta" / "ee-requirements.txt").read_text().splitlines()
    stated = dict(line.partition(",")[0].split(">=") for line in lines if line and not line.startswith("#"))
    assert stated == dict(libraries.REQUIRED.values())


_MODULES = [path for path in (_PROJECT / "plugins" / "modules").glob("*.py") if "module_utils" in path.read_text()]


@pytest.mark.parametrize("module", _MODULES, ids=lambda path: path.stem)
def test_every_module_checks_its_python_before_any_other_code_of_ours_is_imported(module: Path) -> None:
    imports = [line for line in module.read_text().splitlines() if line.startswith("from ansible_collections")]
    assert imports[0].split()[1].endswith("._module.python"), "import _module.python first"


def test_a_python_that_is_too_old_ends_a_module_in_words() -> None:
    """The check itself, with another version number; ``tests/integration/recovery`` has no such Python."""
    code = f"import sys; sys.version_info = (3, 9, 18); exec(open({python.__file__!r}).read())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "this module needs Python 3.11 or later" in json.loads(done.stdout)["msg"]


def test_unexpected_exception_is_raised() -> None:
    with pytest.raises(ZeroDivisionError):
        run(FakeModule(), lambda _module: fails(ZeroDivisionError())())


def error_classes() -> Iterator[tuple[str, type[BaseException]]]:
    """Every exception class of module_utils, by room, file and name."""
    for file in sorted(_MODULE_UTILS.rglob("*.py")):
        room = ".".join(file.relative_to(_MODULE_UTILS).with_suffix("").parts)
        for name, each in vars(import_module(f"{_PACKAGE}.{room}")).items():
            if isinstance(each, type) and issubclass(each, BaseException) and each.__module__ == f"{_PACKAGE}.{room}":
                yield f"{room}.{name}", each


def test_every_error_class_is_a_kafkaops_error() -> None:
    classes = dict(error_classes())
    assert "_spark.java.SparkUnavailableError" in classes
    assert {name for name, each in classes.items() if not issubclass(each, KafkaOpsError)} == _SIGNALS


def test_wrong_evidence_path_fails_the_module_with_a_clear_message(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = {"evidence": str(tmp_path / "evidnce"), "_ansible_remote_tmp": str(tmp_path)}
    with patch_module_args(arguments), pytest.raises(SystemExit):
        leader_candidate_info.main()
    results = json.loads(capsys.readouterr().out)
    assert results["failed"]
    assert results["msg"].startswith(f"{tmp_path}/evidnce/replica_logs.parquet is missing: this is no evidence")
    assert "exception" not in results


def test_all_refusals_are_reported_at_once() -> None:
    with pytest.raises(KafkaOpsError) as refused:
        call_all(lambda: refuse("one"), lambda: 2, lambda: refuse("three"))
    assert str(refused.value) == "one\nthree"


def test_one_refusal_stays_what_it_is() -> None:
    error = KafkaOpsError("one")

    def check() -> None:
        raise error

    with pytest.raises(KafkaOpsError) as refused:
        call_all(check)
    assert refused.value is error


def test_results_of_checks_are_returned_in_order() -> None:
    assert call_all(lambda: 1, lambda: None, lambda: "three") == [1, None, "three"]
