# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The argument spec, the doc fragment and the connection settings have the same options."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
import yaml

from ansible_collections.kafkaops.recovery.plugins.doc_fragments.election_plan import (
    ModuleDocFragment as ElectionPlanDocs,
)
from ansible_collections.kafkaops.recovery.plugins.doc_fragments.gathering import ModuleDocFragment as GatheringDocs
from ansible_collections.kafkaops.recovery.plugins.doc_fragments.journal import ModuleDocFragment as JournalDocs
from ansible_collections.kafkaops.recovery.plugins.doc_fragments.kafka import ModuleDocFragment as ConnectionDocs
from ansible_collections.kafkaops.recovery.plugins.doc_fragments.progress import ModuleDocFragment as ProgressDocs
from ansible_collections.kafkaops.recovery.plugins.doc_fragments.report import ModuleDocFragment as ReportDocs
from ansible_collections.kafkaops.recovery.plugins.doc_fragments.salvage import ModuleDocFragment as SalvageDocs
from ansible_collections.kafkaops.recovery.plugins.doc_fragments.selection import ModuleDocFragment as SelectionDocs
from ansible_collections.kafkaops.recovery.plugins.doc_fragments.waiting import ModuleDocFragment as WaitingDocs
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.settings import ConnectionSettings
from ansible_collections.kafkaops.recovery.plugins.module_utils._module.connection import (
    CONNECTION,
    Arguments,
    connection_settings,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._module.options import JOURNAL, PROGRESS, SELECTION
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.designations import DESIGNATIONS
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.gather import GATHERING
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.options import CHOSEN, MAX_ROWS, REPORT
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.waiting import WAITING
from ansible_collections.kafkaops.recovery.plugins.module_utils._salvage.options import SALVAGE

SECRETS = {"sasl_password", "ssl_key_password", "sasl_oauthbearer_token", "sasl_oauthbearer_client_secret"}
NOTHING = dict.fromkeys(CONNECTION.argument_spec)


FROM_A_FILE = {
    *("sasl_aws_profile", "sasl_kerberos_ticket_cache", "sasl_oauthbearer_ca_pem", "sasl_oauthbearer_extensions"),
    *("ssl_ca_pem", "ssl_certificate_pem", "ssl_key_pem", "ssl_ciphers", "ssl_min_version", "ssl_max_version"),
}
"""Settings that only a properties file gives."""


def test_every_setting_is_an_option_or_comes_from_a_file() -> None:
    settings = {field.name for field in dataclasses.fields(ConnectionSettings)}
    assert set(CONNECTION.argument_spec) == settings - FROM_A_FILE | {"command_config"}


def test_every_secret_is_kept_out_of_logs() -> None:
    assert {name for name, option in CONNECTION.argument_spec.items() if option.get("no_log")} == SECRETS


def test_no_option_has_a_default_that_would_win_over_command_config() -> None:
    assert not any("default" in option for option in CONNECTION.argument_spec.values())


@pytest.mark.parametrize(
    ("docs", "arguments"),
    [
        ((ConnectionDocs.DOCUMENTATION,), CONNECTION),
        (
            (
                SelectionDocs.DOCUMENTATION,
                SelectionDocs.NAMES,
            ),
            SELECTION,
        ),
        ((SelectionDocs.DESIGNATIONS,), CHOSEN),
        ((ElectionPlanDocs.DOCUMENTATION,), DESIGNATIONS),
        ((SalvageDocs.DOCUMENTATION,), SALVAGE),
        ((WaitingDocs.DOCUMENTATION,), WAITING),
        ((GatheringDocs.DOCUMENTATION,), GATHERING),
        ((GatheringDocs.MAX_ROWS,), MAX_ROWS),
        ((JournalDocs.DOCUMENTATION,), JOURNAL),
        ((ReportDocs.DOCUMENTATION,), REPORT),
        ((ProgressDocs.DOCUMENTATION,), PROGRESS),
    ],
)
def test_the_fragment_describes_the_argument_spec(docs: tuple[str, ...], arguments: Arguments) -> None:
    described: dict[str, dict[str, object]] = {}
    for each in docs:
        for name, option in yaml.safe_load(each)["options"].items():
            described.setdefault(name, {}).update(option)
    assert {name: shape(option) for name, option in described.items()} == {
        name: shape(option) for name, option in arguments.argument_spec.items()
    }


def shape(option: dict[str, object]) -> dict[str, object]:
    return {key: option.get(key) for key in ("type", "elements", "choices", "default")}


def test_explicit_options_win_over_command_config(tmp_path: Path) -> None:
    properties = tmp_path / "client.properties"
    properties.write_text("bootstrap.servers=file:9092\nrequest.timeout.ms=100\n", encoding="utf-8")
    settings = connection_settings({**NOTHING, "command_config": str(properties), "bootstrap_servers": ["option:9092"]})
    assert [str(address) for address in settings.bootstrap_servers] == ["option:9092"]
    assert settings.request_timeout_ms == 100
