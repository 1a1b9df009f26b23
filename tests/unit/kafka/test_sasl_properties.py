# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The SASL part of client.properties: JAAS lines as the Java clients read them, or a refusal by name."""

from __future__ import annotations

from pathlib import Path

import javaproperties
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unit.kafka.test_client_properties import PLAIN_LOGIN, SECRET, faults, read


@pytest.mark.parametrize(
    ("mechanism", "jaas", "expected"),
    [
        ("PLAIN", f'{PLAIN_LOGIN} username="alice" password="{SECRET}";', ("alice", SECRET)),
        (
            "SCRAM-SHA-512",
            "org.apache.kafka.common.security.scram.ScramLoginModule required \\\n"
            '    username="alice" \\\n    password="se cret; username=eve";',
            ("alice", "se cret; username=eve"),
        ),
        ("PLAIN", f"{PLAIN_LOGIN} username='o\"x' password = abc-1$.d ;", ('o"x', "abc-1$.d")),
        # In a properties file each of JAAS's backslashes is written twice.
        ("PLAIN", f'{PLAIN_LOGIN} username=u password="q\\\\"b\\\\\\\\s";', ("u", 'q"b\\s')),
    ],
    ids=["PLAIN", "SCRAM", "single quotes and bare", "escapes"],
)
def test_the_jaas_line_gives_the_name_and_password(
    tmp_path: Path, mechanism: str, jaas: str, expected: tuple[str, str]
) -> None:
    content = f"security.protocol=SASL_SSL\nsasl.mechanism={mechanism}\nsasl.jaas.config={jaas}\n"
    options = read(tmp_path, content)
    assert options == {
        "security_protocol": "SASL_SSL",
        "sasl_mechanism": mechanism,
        "sasl_username": expected[0],
        "sasl_password": expected[1],
    }


def test_the_jaas_line_of_oauth(tmp_path: Path) -> None:
    jaas = (
        "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required "
        'ssl.endpoint.identification.algorithm="https" '
        f'clientId="us" clientSecret="{SECRET}" scope="kafka" oauth.scope="theirs" extension_logicalCluster="x";'
    )
    options = read(tmp_path, f"security.protocol=SASL_SSL\nsasl.mechanism=OAUTHBEARER\nsasl.jaas.config={jaas}\n")
    assert (options["sasl_oauthbearer_client_id"], options["sasl_oauthbearer_scope"]) == ("us", "kafka")
    assert options["sasl_oauthbearer_client_secret"] == SECRET


def test_kerberos_is_the_mechanism_where_none_is_named(tmp_path: Path) -> None:
    jaas = (
        "com.sun.security.auth.module.Krb5LoginModule required useKeyTab=true storeKey=true "
        'keyTab="/etc/kafka.keytab" principal="us@EXAMPLE.COM" serviceName="brokers";'
    )
    assert read(tmp_path, f"security.protocol=SASL_SSL\nsasl.jaas.config={jaas}\n") == {
        "security_protocol": "SASL_SSL",
        "sasl_mechanism": "GSSAPI",
        "sasl_kerberos_service_name": "brokers",
        "sasl_kerberos_principal": "us@EXAMPLE.COM",
        "sasl_kerberos_keytab": "/etc/kafka.keytab",
    }


@pytest.mark.parametrize(
    ("properties", "refusal"),
    [
        (
            f'sasl.jaas.config={PLAIN_LOGIN} username=a password="{SECRET}";',
            "sasl.mechanism is not set, which means GSSAPI",
        ),
        (
            f"sasl.mechanism=PLAIN\nsasl.jaas.config=a.b.Own required password={SECRET};",
            "names a.b.Own, which cannot be",
        ),
        (
            f"sasl.mechanism=PLAIN\nsasl.jaas.config={PLAIN_LOGIN} password={SECRET};",
            "sasl.jaas.config has no username",
        ),
        (f"sasl.mechanism=PLAIN\nsasl.jaas.config={PLAIN_LOGIN} password={SECRET}", "does not end with a semicolon"),
        ("sasl.mechanism=PLAIN\nsasl.login.class=a.b.Own", "sasl.login.class is a.b.Own: Java code cannot"),
        (
            "sasl.mechanism=PLAIN\nsasl.client.callback.handler.class=a.b.C",
            "sasl.client.callback.handler.class is a.b.C",
        ),
        (
            "sasl.jaas.config=com.sun.security.auth.module.Krb5LoginModule required debug=true;",
            "neither useKeyTab=true nor useTicketCache=true",
        ),
        (
            "sasl.kerberos.service.name=x\n"
            "sasl.jaas.config=c.Krb5LoginModule required useTicketCache=true serviceName=y;",
            "set only one",
        ),
    ],
)
def test_sasl_that_cannot_be_done_is_refused_by_name(tmp_path: Path, properties: str, refusal: str) -> None:
    (fault,) = faults(tmp_path, f"security.protocol=SASL_SSL\n{properties}\n")
    assert refusal in fault


@given(st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"]), min_size=1))
def test_any_password_survives_jaas_and_properties(tmp_path_factory: pytest.TempPathFactory, password: str) -> None:
    quoted = password.replace("\\", "\\\\").replace('"', '\\"')
    jaas = f'{PLAIN_LOGIN} username="alice" password="{quoted}";'
    properties = {"security.protocol": "SASL_SSL", "sasl.mechanism": "PLAIN", "sasl.jaas.config": jaas}
    options = read(tmp_path_factory.mktemp("properties"), javaproperties.dumps(properties))
    assert (options["sasl_username"], options["sasl_password"]) == ("alice", password)
