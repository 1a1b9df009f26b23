# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Translate the ``sasl.`` properties of Kafka's Java client into options of this collection.

Without ``sasl.jaas.config``, Kafka's tools take the login module from the JAAS file that KAFKA_OPTS names, and so does
this file.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import quote_plus

from .jaas import JaasError, LoginModule, parse_jaas, read_kafka_opts
from .oauth_properties import STRIMZI_HANDLER, read_oauth, read_strimzi

_KAFKA_DEFAULT_MECHANISM = "GSSAPI"
_PASSWORD_MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
_KERBEROS = frozenset({"sasl_kerberos_keytab", "sasl_kerberos_ticket_cache"})
_MODULES = {
    # For all these mechanisms, Kafka's client accepts the name and password of either module.
    **dict.fromkeys(_PASSWORD_MECHANISMS, ("PlainLoginModule", "ScramLoginModule")),
    "OAUTHBEARER": ("OAuthBearerLoginModule",),
    "GSSAPI": ("Krb5LoginModule",),
    "AWS_MSK_IAM": ("IAMLoginModule",),
}
_HANDLERS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "sasl.login.callback.handler.class": {"OAUTHBEARER": ("OAuthBearerLoginCallbackHandler", STRIMZI_HANDLER)},
    "sasl.client.callback.handler.class": {"AWS_MSK_IAM": ("IAMClientCallbackHandler",)},
}
"""Callback handlers whose function this collection has. Any other one is Java code."""


def sasl_options(properties: Mapping[str, str], explicit: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """Return the options for these properties, and a text for each unsupported property.

    Call it only for a security protocol with SASL: for others Kafka ignores these properties.
    """
    mechanism = str(explicit.get("sasl_mechanism") or properties.get("sasl.mechanism") or _KAFKA_DEFAULT_MECHANISM)
    options: dict[str, Any] = {"sasl_mechanism": mechanism}
    refusals = [*_find_unsupported_handlers(properties, mechanism)]
    module: LoginModule | None = None
    text = properties.get("sasl.jaas.config")
    if not _has_credentials(mechanism, explicit):
        try:
            module = parse_jaas(text) if text else read_kafka_opts(os.environ)
        except JaasError as error:
            if text:
                refusals.append(f"sasl.jaas.config: {error}")
            elif mechanism in _PASSWORD_MECHANISMS or (mechanism == "GSSAPI" and not _KERBEROS & explicit.keys()):
                # For others, the file may be that of a broker: what they need is in other properties, too.
                refusals.append(f"sasl.jaas.config is not set, and {error}")
    if module is not None:
        if module.name not in _MODULES.get(mechanism, (module.name,)):
            refusals.append(_explain_wrong_module(module, mechanism, is_default="sasl.mechanism" not in properties))
        elif mechanism == "GSSAPI":
            refusals += _read_kerberos(module, options)
        elif mechanism == "AWS_MSK_IAM":
            refusals += _read_aws(module, options)
        elif mechanism == "OAUTHBEARER":
            handler = properties.get("sasl.login.callback.handler.class", "").rpartition(".")[2]
            read = read_strimzi if handler == STRIMZI_HANDLER else read_oauth
            refusals += read(module, options)
        else:
            refusals += _read_password(module, options)
    refusals += _read_other_properties(properties, options)
    return options, refusals


def _has_credentials(mechanism: str, explicit: Mapping[str, Any]) -> bool:
    return mechanism in _PASSWORD_MECHANISMS and {"sasl_username", "sasl_password"} <= explicit.keys()


def _find_unsupported_handlers(properties: Mapping[str, str], mechanism: str) -> Iterator[str]:
    for name in ("sasl.login.callback.handler.class", "sasl.client.callback.handler.class", "sasl.login.class"):
        class_name = properties.get(name)
        known = _HANDLERS.get(name, {}).get(mechanism, ())
        if class_name and class_name.rpartition(".")[2] not in known:
            yield (
                f"{name} is {class_name}: Java code cannot be run here; remove it if the credentials can be given "
                "otherwise, for instance as sasl_username and sasl_password"
            )


def _explain_wrong_module(module: LoginModule, mechanism: str, *, is_default: bool) -> str:
    if is_default:
        return (
            f"sasl.jaas.config names {module.name}, but sasl.mechanism is not set, which means GSSAPI to Kafka: set "
            "sasl.mechanism"
        )
    return f"sasl.jaas.config names {module.class_name}, which cannot be used here for the mechanism {mechanism}"


def _read_password(module: LoginModule, options: dict[str, Any]) -> Iterator[str]:
    if module.options.get("tokenauth", "").lower() == "true":
        yield "sasl.jaas.config sets tokenauth: a delegation token cannot be used here, give a user's name and password"
    for name in ("username", "password"):
        if module.options.get(name):
            options[f"sasl_{name}"] = module.options[name]
        else:
            yield f"sasl.jaas.config has no {name}"


def _read_kerberos(module: LoginModule, options: dict[str, Any]) -> Iterator[str]:
    def is_set(name: str) -> bool:
        return module.options.get(name, "").lower() == "true"

    if module.options.get("serviceName"):
        options["sasl_kerberos_service_name"] = module.options["serviceName"]
    if module.options.get("principal"):
        options["sasl_kerberos_principal"] = module.options["principal"]
    if is_set("useTicketCache") and module.options.get("ticketCache"):
        options["sasl_kerberos_ticket_cache"] = module.options["ticketCache"]
    if is_set("useKeyTab"):
        if not (module.options.get("keyTab") and module.options.get("principal")):
            yield "sasl.jaas.config sets useKeyTab: set keyTab and principal too"
        options["sasl_kerberos_keytab"] = module.options.get("keyTab", "").removeprefix("file:")
    elif not is_set("useTicketCache"):
        yield "sasl.jaas.config sets neither useKeyTab=true nor useTicketCache=true, so Java would ask for a password"


def _read_aws(module: LoginModule, options: dict[str, Any]) -> Iterator[str]:
    if module.options.get("awsProfileName"):
        options["sasl_aws_profile"] = module.options["awsProfileName"]
    for name in sorted(module.options.keys() - {"awsProfileName", "awsDebugCreds"}):
        yield f"sasl.jaas.config sets {name}: name a profile of AWS's own files that does the same in awsProfileName"


def _read_other_properties(properties: Mapping[str, str], options: dict[str, Any]) -> Iterator[str]:
    names = {
        "sasl.kerberos.service.name": "sasl_kerberos_service_name",
        "sasl.oauthbearer.token.endpoint.url": "sasl_oauthbearer_token_endpoint_url",
        "sasl.oauthbearer.client.credentials.client.id": "sasl_oauthbearer_client_id",
        "sasl.oauthbearer.client.credentials.client.secret": "sasl_oauthbearer_client_secret",
        "sasl.oauthbearer.scope": "sasl_oauthbearer_scope",
    }
    for java, ours in names.items():
        value = properties.get(java)
        if value and java == "sasl.kerberos.service.name" and options.get(ours, value) != value:
            yield f"{java} is {value}, and serviceName in sasl.jaas.config is {options[ours]}: set only one"
        if value:
            options[ours] = value
    if properties.get("sasl.oauthbearer.header.urlencode", "").lower() == "true":
        for ours in ("sasl_oauthbearer_client_id", "sasl_oauthbearer_client_secret"):
            if options.get(ours):
                options[ours] = quote_plus(options[ours])
