# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""References to config providers: replaced as Kafka does, or refused by name."""

from __future__ import annotations

from pathlib import Path

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.client_properties import resolve

CLASSES = {
    "config.providers": "file, env,dir",
    "config.providers.file.class": "org.apache.kafka.common.config.provider.FileConfigProvider",
    "config.providers.env.class": "org.apache.kafka.common.config.provider.EnvVarConfigProvider",
    "config.providers.dir.class": "org.apache.kafka.common.config.provider.DirectoryConfigProvider",
}


@pytest.fixture
def secrets(tmp_path: Path) -> Path:
    path = tmp_path / "secrets.properties"
    path.write_text("password=s3\\u0041cret \nempty=\nnested=${env:USER}\n")
    (tmp_path / "token").write_text("line\n")
    return path


def one(value: str, **more: str) -> tuple[str, list[str]]:
    resolved, refusals = resolve({"x": value, **CLASSES, **more}, {"USER": "alice"})
    return resolved["x"], refusals


def test_values_are_replaced_and_not_trimmed(secrets: Path) -> None:
    value, refusals = one(
        f"<${{file:{secrets}:password}}${{env:USER}}${{dir:{secrets.parent}:token}}${{file:{secrets}:empty}}>"
    )
    assert (value, refusals) == ("<s3Acret aliceline\n>", [])


def test_references_in_a_replaced_value_stay(secrets: Path) -> None:
    assert one(f"${{file:{secrets}:nested}}") == ("${env:USER}", [])


@pytest.mark.parametrize("text", ["no reference", "$", "${}", "${word}", "{a:b}"])
def test_other_text_stays(text: str) -> None:
    assert one(text) == (text, [])


@pytest.mark.parametrize(
    ("value", "refusal"),
    [
        ("${vault:secret/kafka:password}", "'vault', which is not set up"),
        ("${file:/absent/file:password}", "/absent/file cannot be read: No such file"),
        ("${file:SECRETS:absent}", "has no key 'absent'"),
        ("${file::key}", "names no path"),
        ("${file:key}", "names no path"),
        ("${dir:DIRECTORY:absent}", "there is no file 'absent'"),
        ("${dir:DIRECTORY:../token}", "there is no file '../token'"),
        ("${env:ABSENT}", "the environment variable ABSENT is not set"),
        ("${env:path:USER}", "takes no path"),
    ],
)
def test_reference_that_cannot_be_replaced_is_refused_by_name(secrets: Path, value: str, refusal: str) -> None:
    _value, (reported,) = one(value.replace("SECRETS", str(secrets)).replace("DIRECTORY", str(secrets.parent)))
    assert reported.startswith("x: ")
    assert refusal in reported


@pytest.mark.parametrize("reference", ["${file:OUTSIDE:password}", "${file:ALLOWED/../secrets.properties:password}"])
def test_only_allowed_paths_are_read(secrets: Path, reference: str) -> None:
    allowed = secrets.parent / "allowed"
    allowed.mkdir()
    value = reference.replace("OUTSIDE", str(secrets)).replace("ALLOWED", str(allowed))
    _value, (reported,) = one(value, **{"config.providers.file.param.allowed.paths": f"/etc,{allowed}"})
    assert "is not below a path in the config provider's allowed.paths" in reported


@pytest.mark.parametrize(("pattern", "refused"), [("US.*", False), ("SER", True), ("[", True)])
def test_only_allowed_variables_are_read(pattern: str, refused: bool) -> None:
    _value, reported = one("${env:USER}", **{"config.providers.env.param.allowlist.pattern": pattern})
    assert bool(reported) == refused


def test_other_providers_are_refused_by_name_even_where_nothing_refers_to_them() -> None:
    _resolved, refusals = resolve(
        {"config.providers": "vault,none", "config.providers.vault.class": "com.example.Vault"}
    )
    assert [reported.split(":")[0] for reported in refusals] == [
        "config.providers.vault.class is com.example.Vault",
        "config.providers.none.class is not set",
    ]


def test_without_providers_a_reference_is_not_sent_as_a_password() -> None:
    _resolved, (reported,) = resolve({"sasl.jaas.config": "x password=${file:/a:b};"})
    assert reported.startswith("sasl.jaas.config: it refers to the config provider 'file', which is not set up")
