# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""kafka-python is imported partially, and later imports get the complete package. Each test uses a new process."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

_UTILS = "ansible_collections.kafkaops.recovery.plugins.module_utils"
_DEFER = f"from {_UTILS}._kafka.package import defer_clients; defer_clients(); import sys; "


def output_of(program: str, *, has_libraries: bool = True) -> str:
    command = [sys.executable, *([] if has_libraries else ["-S"]), "-c", program]
    # A Spark session of this process adds its workers' code, which is another copy of the collection.
    left_out = (".zip",) if has_libraries else (".zip", "site-packages")
    path = [each for each in sys.path if not each.endswith(left_out)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path)}
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout.strip()


def test_a_module_imports_no_client_of_kafka_python() -> None:
    """Import the modules of an election, more than any other module needs."""
    program = (
        f"import {_UTILS.removesuffix('module_utils')}modules.designated_election;"
        "import sys; print('kafka.net.manager' in sys.modules, 'kafka.producer' in sys.modules, "
        "'kafka.consumer' in sys.modules, 'kafka.admin' in sys.modules)"
    )
    assert output_of(program) == "True False False False"


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ("from kafka import errors; print(errors.__name__)", "kafka.errors"),
        ("from kafka import KafkaAdminClient; print(KafkaAdminClient.__module__)", "kafka.admin.client"),
        ("import kafka; print(kafka.KafkaProducer.__module__)", "kafka.producer.kafka"),
        ("import kafka; print(hasattr(kafka, 'no_such_name'), 'kafka.admin' in sys.modules)", "False True"),
        ("import kafka; print(hasattr(kafka, '__wrapped__'), 'kafka.admin' in sys.modules)", "False False"),
        ("import kafka.admin; print(kafka.admin.KafkaAdminClient.__name__)", "KafkaAdminClient"),
    ],
)
def test_other_names_load_the_whole_package(asked: str, found: str) -> None:
    assert output_of(_DEFER + asked) == found


def test_a_package_that_is_imported_already_is_left_alone() -> None:
    assert output_of(f"import kafka; before = kafka; {_DEFER} print(sys.modules['kafka'] is before)") == "True"


def test_without_kafka_python_nothing_happens() -> None:
    program = f"{_DEFER} print('kafka' in sys.modules)"
    assert output_of(program, has_libraries=False) == "False"
