# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Authenticate by Amazon MSK's AWS_MSK_IAM, with the credentials that botocore finds.

botocore looks for keys where AWS's own tools do: environment, profile, container, instance. kafka-python signs for each
broker. Its own mechanism does that on the I/O thread, and takes the region from AWS's settings only. Here it is also
taken from the broker's name.

librdkafka has no AWS_MSK_IAM. MSK's listener for IAM also offers OAUTHBEARER, and takes a signed URL as a token.
"""

from __future__ import annotations

import base64
import re
import threading
import time
from contextlib import suppress
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from .errors import CredentialsError, SettingsError
from .settings import ConnectionSettings

with suppress(ImportError):  # a missing library is reported before the module starts (_module/run.py)
    from kafka.net.sasl import register_sasl_mechanism
    from kafka.net.sasl.msk import AwsMskIamClient, SaslMechanismAwsMskIam

_BROKER = re.compile(r"\.(?:kafka|kafka-serverless)\.([a-z0-9-]+)\.amazonaws\.com(?:\.cn)?$")
_SIGNER = "kafkaops.recovery"
_CONNECT = {"Action": "kafka-cluster:Connect"}
_TOKEN_LIFETIME_S = 900
"""The longest that MSK accepts."""


class AwsCredentials:
    """The AWS credentials of one process."""

    def __init__(self, settings: ConnectionSettings) -> None:
        if find_spec("botocore") is None:
            raise SettingsError(
                ["AWS_MSK_IAM needs the Python library botocore, which is not installed: pip install botocore"]
            )
        self._profile = settings.sasl_aws_profile
        self._bootstrap_host = settings.bootstrap_servers[0].host
        self._lock = threading.Lock()
        self._session: Any = None

    def prepare(self, host: str, timeout_s: float, *, is_connected: bool) -> None:
        """Find the credentials, and renew those that expire. botocore has its own time limits.

        Raises CredentialsError.
        """
        with self._lock:
            self.signer(host)

    def kafka_python_config(self) -> dict[str, Any]:
        """Register the mechanism, and return the configuration that passes these credentials to it."""
        register_sasl_mechanism("AWS_MSK_IAM", _Mechanism, overwrite=True)
        return {"sasl_kerberos_name": self}

    def signer(self, host: str) -> Any:
        """Return kafka-python's signer for the broker on this host. Raises CredentialsError."""
        keys, region = self._keys_and_region(host)
        return AwsMskIamClient(
            host=host, access_key=keys.access_key, secret_key=keys.secret_key, region=region, token=keys.token
        )

    def librdkafka_token(self, _config: str) -> tuple[str, float]:
        """Return a token and its expiry in seconds since 1970, as confluent-kafka's ``oauth_cb``.

        The token is that of AWS's own signer: a signed URL of the region's endpoint, in base64url without padding.

        Raises CredentialsError.
        """
        with self._lock:
            keys, region = self._keys_and_region(self._bootstrap_host)
        request = import_module("botocore.awsrequest").AWSRequest(
            "GET", f"https://kafka.{region}.amazonaws.com/", params=_CONNECT
        )
        auth = import_module("botocore.auth")
        signed_at = time.time()
        auth.SigV4QueryAuth(keys, "kafka-cluster", region, expires=_TOKEN_LIFETIME_S).add_auth(request)
        url = f"{request.prepare().url}&User-Agent={_SIGNER}"
        return base64.urlsafe_b64encode(url.encode()).decode().rstrip("="), signed_at + _TOKEN_LIFETIME_S

    def _keys_and_region(self, host: str) -> tuple[Any, str]:
        errors = import_module("botocore.exceptions")
        try:
            if self._session is None:
                self._session = import_module("botocore.session").Session(profile=self._profile)
            found = self._session.get_credentials()
            keys = found.get_frozen_credentials() if found is not None else None
            named = _BROKER.search(host)
            region = named[1] if named else self._session.get_config_variable("region")
        except errors.BotoCoreError as error:
            raise CredentialsError(f"no AWS credentials for AWS_MSK_IAM: {error}") from None
        if keys is None:
            raise CredentialsError(
                "no AWS credentials for AWS_MSK_IAM: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or a profile, or "
                "run where the instance or container has a role"
            )
        if not region:
            raise CredentialsError(f"the AWS region of {host} is not known: set AWS_DEFAULT_REGION")
        return keys, region


with suppress(NameError):

    class _Mechanism(SaslMechanismAwsMskIam):
        """kafka-python's mechanism, with credentials that are already known."""

        def __init__(self, **config: Any) -> None:
            super().__init__(**config)
            self._credentials: AwsCredentials = config["sasl_kerberos_name"]

        def _build_client(self) -> Any:
            return self._credentials.signer(self.host)
