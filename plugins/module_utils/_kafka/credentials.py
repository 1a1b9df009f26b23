# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a connection proves its identity with, where that has to be fetched first: a token, a ticket, AWS keys.

kafka-python asks for it on the one I/O thread, where waiting for another server would hold up every connection. So it
is fetched before, by the thread that wants to call a broker, once for the whole process.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Protocol

from .settings import ConnectionSettings

# Imported only where needed: most runs authenticate with a password, or not at all.
# ruff: noqa: PLC0415


class Credentials(Protocol):
    """Credentials that are fetched."""

    def prepare(self, host: str, timeout_s: float, *, is_connected: bool) -> None:
        """Fetch what a connection to this host needs, if that is not there yet. Blocks, up to ``timeout_s`` seconds.

        ``is_connected`` says that the connection exists, and may only have to authenticate again later (KIP-368).

        Raises CredentialsError.
        """

    def kafka_python_config(self) -> dict[str, Any]:
        """Return what kafka-python's configuration needs for them."""


@lru_cache(maxsize=4)
def credentials_for(settings: ConnectionSettings) -> Credentials | None:
    """Return what is fetched for these settings, one for the whole process; None where nothing is.

    Raises SettingsError: a library that this mechanism needs is missing.
    """
    if not settings.uses_sasl:
        return None
    if settings.sasl_mechanism == "OAUTHBEARER":
        from .oauth import OAuthCredentials

        return OAuthCredentials(settings)
    if settings.sasl_mechanism == "GSSAPI":
        from .kerberos import KerberosCredentials

        return KerberosCredentials(settings)
    if settings.sasl_mechanism == "AWS_MSK_IAM":
        from .msk_iam import AwsCredentials

        return AwsCredentials(settings)
    return None
