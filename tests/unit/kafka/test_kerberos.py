# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Messages about GSSAPI without a KDC; tests/integration/kerberos has a real KDC."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka import kerberos
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.errors import SettingsError
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.settings import settings_from


def test_a_missing_library_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "gssapi", None)  # as if it were not installed
    options = {"bootstrap_servers": "one:1", "security_protocol": "SASL_SSL", "sasl_mechanism": "GSSAPI"}
    with pytest.raises(SettingsError, match="GSSAPI needs the Python library gssapi, which is not installed: pip inst"):
        kerberos.KerberosCredentials(settings_from(options))


@pytest.mark.parametrize(
    ("content", "cause"),
    [
        (b"\x05\x02", "has no key of alice (see klist -k)"),
        (b"n0t a keytab", "is not a keytab"),
        (None, "cannot be read: No such file"),
    ],
)
def test_cause_of_an_unusable_keytab_is_reported(tmp_path: Path, content: bytes | None, cause: str) -> None:
    keytab = tmp_path / "our.keytab"
    if content is not None:
        keytab.write_bytes(content)
    assert cause in kerberos._describe_keytab_error(str(keytab), "alice")
