# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Replace ``${provider:path:key}`` in properties as Kafka does (KIP-297). Standard library and javaproperties.

FileConfigProvider, EnvVarConfigProvider (KIP-887) and DirectoryConfigProvider (KIP-421) are Kafka's own. Where Kafka
leaves a reference as it is, and then sends it to the broker as a password, it is refused here.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

from .._model.run import KafkaOpsError

with suppress(ImportError):  # a missing library is named before anything is done (_module/run.py)
    import javaproperties

_REFERENCE = re.compile(r"\$\{([^}]*?):(?:([^}]*?):)?([^}]*?)\}")
_PACKAGE = "org.apache.kafka.common.config.provider."
_MAX_SECRET_FILE_BYTES = 1_000_000

Lookup = Callable[[str, str], str]
"""(path, key) -> value."""


class _ProviderError(KafkaOpsError):
    """A value cannot be looked up. The message holds no value."""


def resolve(
    properties: Mapping[str, str], environment: Mapping[str, str] | None = None
) -> tuple[dict[str, str], list[str]]:
    """Return the properties with every reference replaced, and why any could not be.

    Kafka does not replace what a replaced value refers to in turn, and neither is it done here.
    """
    refusals: list[str] = []
    lookups: dict[str, Lookup] = {}
    for name in filter(None, map(str.strip, properties.get("config.providers", "").split(","))):
        try:
            lookups[name] = _lookup(name, properties, os.environ if environment is None else environment)
        except _ProviderError as error:
            refusals.append(str(error))

    resolved: dict[str, str] = {}
    for name, value in properties.items():
        resolved[name] = value
        if not name.startswith("config.providers"):
            try:
                resolved[name] = _REFERENCE.sub(lambda found: _replaced(found, lookups), value)
            except _ProviderError as error:
                refusals.append(f"{name}: {error}")
    return resolved, refusals


def _replaced(found: re.Match[str], lookups: Mapping[str, Lookup]) -> str:
    provider, path, key = found[1], found[2] or "", found[3]
    if provider not in lookups:
        raise _ProviderError(
            f"it refers to the config provider {provider!r}, which is not set up: add it to config.providers, with "
            f"config.providers.{provider}.class"
        )
    return lookups[provider](path, key)


def _lookup(name: str, properties: Mapping[str, str], environment: Mapping[str, str]) -> Lookup:
    class_name = properties.get(f"config.providers.{name}.class", "").strip()
    allowed = _allowed_paths(properties.get(f"config.providers.{name}.param.allowed.paths", ""))
    if class_name == f"{_PACKAGE}FileConfigProvider":
        return lambda path, key: _from_file(_checked(path, allowed), key)
    if class_name == f"{_PACKAGE}DirectoryConfigProvider":
        return lambda path, key: _from_directory(_checked(path, allowed), key)
    if class_name == f"{_PACKAGE}EnvVarConfigProvider":
        pattern = properties.get(f"config.providers.{name}.param.allowlist.pattern", "").strip() or ".*"
        return lambda path, key: _from_environment(path, key, pattern, environment)
    raise _ProviderError(
        f"config.providers.{name}.class is {class_name or 'not set'}: only Kafka's FileConfigProvider, "
        "EnvVarConfigProvider and DirectoryConfigProvider can be used here; give what it would return as an option of "
        "the module, for instance sasl_password"
    )


def _allowed_paths(text: str) -> list[Path]:
    return [Path(each.strip()) for each in text.split(",") if each.strip()]


def _checked(path: str, allowed: list[Path]) -> Path:
    if not path:
        raise _ProviderError("its reference to a config provider names no path")
    # Kafka compares the path after taking ".." out of it, and follows no links.
    wanted = Path(os.path.normpath(path))
    if allowed and not any(wanted.is_relative_to(each) for each in allowed):
        raise _ProviderError(f"{path} is not below a path in the config provider's allowed.paths")
    return wanted


def _from_file(path: Path, key: str) -> str:
    try:
        with path.open("rb") as file:
            values: dict[str, str] = javaproperties.load(file)
    except OSError as error:
        raise _ProviderError(f"{path} cannot be read: {error.strerror}") from None
    except ValueError:
        raise _ProviderError(f"{path} is not a Java properties file") from None  # the cause may quote a secret
    if key not in values:
        raise _ProviderError(f"{path} has no key {key!r}")
    return values[key]


def _from_directory(path: Path, key: str) -> str:
    file = path / key
    try:
        # As Kafka: a file of this directory itself, and nothing that a name with a slash would lead to.
        if "/" in key or not file.is_file():
            raise _ProviderError(f"there is no file {key!r} in the directory {path}")
        if file.stat().st_size > _MAX_SECRET_FILE_BYTES:
            raise _ProviderError(f"{file} is larger than {_MAX_SECRET_FILE_BYTES} bytes")
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        cause = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise _ProviderError(f"{file} cannot be read: {cause}") from None


def _from_environment(path: str, key: str, pattern: str, environment: Mapping[str, str]) -> str:
    if path:
        raise _ProviderError("an EnvVarConfigProvider takes no path: write ${provider:NAME}")
    try:
        is_allowed = re.fullmatch(pattern, key) is not None
    except re.error:
        raise _ProviderError("the config provider's allowlist.pattern is not a regular expression") from None
    if not is_allowed or key not in environment:
        why = (
            "is not set where the module runs"
            if is_allowed
            else "does not match the config provider's allowlist.pattern"
        )
        raise _ProviderError(f"the environment variable {key} {why}")
    return environment[key]
