# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The command that grants an ACL is complete, and names our principal as brokers do."""

from __future__ import annotations

import shlex
from typing import Any

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.acls import grant_command
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.settings import settings_from

SCRAM = {"security_protocol": "SASL_PLAINTEXT", "sasl_mechanism": "SCRAM-SHA-256", "sasl_password": "secret"}
KERBEROS = {"security_protocol": "SASL_PLAINTEXT", "sasl_mechanism": "GSSAPI"}


@pytest.mark.parametrize(
    ("given", "principal"),
    [
        ({}, "User:ANONYMOUS"),
        ({**SCRAM, "sasl_username": "alice"}, "User:alice"),
        ({**SCRAM, "sasl_username": "alice & bob"}, "User:alice & bob"),
        ({**KERBEROS, "sasl_kerberos_principal": "ops/host1@EXAMPLE.COM"}, "User:ops"),
        ({"security_protocol": "SSL"}, "User:PRINCIPAL"),
        (KERBEROS, "User:PRINCIPAL"),
    ],
)
def test_the_command_names_the_principal(given: dict[str, Any], principal: str) -> None:
    settings = settings_from({"bootstrap_servers": ["a:1", "b:2"], **given})
    words = shlex.split(grant_command(settings, ["DESCRIBE_CONFIGS", "READ"], "--topic '*'").partition(" (")[0])
    assert words == [
        *("kafka-acls.sh", "--bootstrap-server", "a:1,b:2", "--command-config", "admin.properties", "--add"),
        *("--allow-principal", principal, "--operation", "DescribeConfigs", "--operation", "Read", "--topic", "*"),
    ]
    assert "secret" not in " ".join(words)
