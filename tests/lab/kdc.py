# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A real Kerberos KDC (MIT, Debian's krb5-kdc and krb5-admin-server) for one test, on loopback, without root."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from lab import process, wire
from lab.ports import HeldPorts
from lab.waiting import wait_until

REALM = "LAB.EXAMPLE"
_PATH = f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin"
_PROGRAMS = ("krb5kdc", "kdb5_util", "kadmin.local", "kinit", "faketime")
_FAKETIME = {"LD_PRELOAD": "/usr/$LIB/faketime/libfaketime.so.1"}
"""The variables that the program faketime sets. faketime itself would wait for the KDC, which must be killed."""


class KdcError(RuntimeError):
    """A program of MIT Kerberos is missing, or ended with an error."""


class Kdc:
    """A KDC for the duration of a ``with`` block. Its files, keytabs included, are in one directory.

    Raises KdcError where MIT Kerberos is not installed.
    """

    def __init__(self, directory: Path, *, ticket_lifetime: str = "10h") -> None:
        missing = [name for name in _PROGRAMS if shutil.which(name, path=_PATH) is None]
        if missing:
            raise KdcError(
                f"there is no {', '.join(missing)}: apt-get install krb5-kdc krb5-admin-server krb5-user faketime"
            )
        directory.mkdir(parents=True)
        self._directory = directory
        self._ports = HeldPorts("127.0.0.1")
        self._port = self._ports.take()
        self._process: subprocess.Popen[bytes] | None = None
        self.krb5_conf = directory / "krb5.conf"
        self.krb5_conf.write_text(self._client_config(REALM, ticket_lifetime))
        (directory / "kdc.conf").write_text(
            "[kdcdefaults]\n"
            f"kdc_listen = 127.0.0.1:{self._port}\nkdc_tcp_listen = 127.0.0.1:{self._port}\n"
            f"[realms]\n{REALM} = {{\n"
            f"database_name = {directory}/principal\nkey_stash_file = {directory}/stash\n"
            f"acl_file = {directory}/acl\n}}\n"
        )

    def __enter__(self) -> Kdc:
        self._run("kdb5_util", "create", "-s", "-r", REALM, "-P", "master-secret", "-W")
        self.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self.stop()
        self._ports.release()

    @property
    def environment(self) -> dict[str, str]:
        """Return the environment of a client, Java's tools included."""
        return {
            "KRB5_CONFIG": str(self.krb5_conf),
            "KRB5CCNAME": f"FILE:{self._directory}/tickets",
            "JAVA_TOOL_OPTIONS": f"-Djava.security.krb5.conf={self.krb5_conf}",
        }

    def start(self, *, ahead: str = "") -> None:
        """Start the KDC; return when it answers. ``ahead`` is how far its clock is ahead, such as "1h"."""
        program = shutil.which("krb5kdc", path=_PATH) or ""
        self._process = process.spawn(
            [program, "-n", "-r", REALM, "-P", str(self._directory / "pid")],
            self._directory / "kdc.log",
            {**os.environ, **self._environment(), **(_FAKETIME | {"FAKETIME": f"+{ahead}"} if ahead else {})},
        )
        wait_until(self._answers, 30, what="the KDC listens")

    def stop(self) -> None:
        """Stop the KDC."""
        if self._process is not None:
            process.kill(self._process)

    def keytab(self, principal: str) -> Path:
        """Add a principal with a random key, and return a keytab with it."""
        path = self._directory / f"{principal.replace('/', '_')}.keytab"
        self._admin(f"addprinc -randkey {principal}")
        self._admin(f"ktadd -k {path} {principal}")
        return path

    def renew_key(self, principal: str) -> None:
        """Set a new key for a principal, so that its keytab is outdated."""
        self._admin(f"change_password -randkey {principal}")

    def kinit(self, principal: str, keytab: Path) -> None:
        """Get a ticket into the cache that ``environment`` names."""
        self._run("kinit", "-k", "-t", str(keytab), principal)

    def other_realm(self) -> Path:
        """Return a krb5.conf that knows this realm's KDC under another realm's name."""
        path = self._directory / "other.conf"
        path.write_text(self._client_config("OTHER.EXAMPLE", "10h"))
        return path

    def _client_config(self, realm: str, ticket_lifetime: str) -> str:
        return (
            f"[libdefaults]\ndefault_realm = {realm}\nticket_lifetime = {ticket_lifetime}\n"
            "dns_lookup_kdc = false\ndns_lookup_realm = false\nrdns = true\nudp_preference_limit = 1\n"
            f"[realms]\n{realm} = {{\nkdc = 127.0.0.1:{self._port}\n}}\n"
            f"[domain_realm]\nlocalhost = {realm}\n"
        )

    def _environment(self) -> dict[str, str]:
        return {"KRB5_KDC_PROFILE": str(self._directory / "kdc.conf"), "PATH": _PATH, **self.environment}

    def _admin(self, query: str) -> None:
        self._run("kadmin.local", "-r", REALM, "-q", query)

    def _run(self, *command: str) -> None:
        done = subprocess.run(
            command,
            env={**os.environ, **self._environment()},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
            stdin=subprocess.DEVNULL,
        )
        if done.returncode != 0:
            raise KdcError(f"{' '.join(command)}: {done.stderr}")

    def _answers(self) -> bool:
        return wire.accepts("127.0.0.1", self._port)
