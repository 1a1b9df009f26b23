# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The connection options; module_utils/_module/connection.py has their argument spec."""

from __future__ import annotations


class ModuleDocFragment:
    DOCUMENTATION = r"""
options:
  bootstrap_servers:
    description:
      - The brokers to ask first, each as V(host:port). An IPv6 address stands in brackets, as in V([::1]:9092).
      - A string with commas is taken too.
      - When one broker is silent, another one is asked. So name more than one.
      - One of O(bootstrap_servers) and O(command_config) is required.
    type: list
    elements: str
  command_config:
    description:
      - Path of a Java C(client.properties), as Kafka's own tools take it with C(--command-config).
      - Options that are given outright win over what the file says.
      - A file that Kafka's own tools accept works unchanged. Key and trust stores may be PKCS12, JKS (read by Java's
        keytool) or PEM, in files or inline. References to C(FileConfigProvider), C(EnvVarConfigProvider) and
        C(DirectoryConfigProvider) are resolved where the module runs.
      - What cannot be obeyed is refused by the name of the property, before any connection is opened.
        See docs/connecting.md.
    type: path
  request_timeout_ms:
    description:
      - Milliseconds that one attempt at one broker may take, connecting and authenticating included.
      - Defaults to C(request.timeout.ms) of O(command_config), or else to V(5000).
    type: int
  security_protocol:
    description:
      - How to talk to the brokers.
      - Defaults to C(security.protocol) of O(command_config), or else to V(PLAINTEXT).
    type: str
    choices: [PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL]
  sasl_mechanism:
    description:
      - How to authenticate, where O(security_protocol) uses SASL.
    type: str
    choices: [PLAIN, SCRAM-SHA-256, SCRAM-SHA-512, OAUTHBEARER, GSSAPI, AWS_MSK_IAM]
  sasl_username:
    description:
      - User name for PLAIN and SCRAM.
    type: str
  sasl_password:
    description:
      - Password for PLAIN and SCRAM.
    type: str
  sasl_kerberos_service_name:
    description:
      - Kerberos service name of the brokers, for GSSAPI.
      - Defaults to that of O(command_config), or else to V(kafka).
    type: str
  sasl_kerberos_domain_name:
    description:
      - Kerberos domain name of the brokers, for GSSAPI.
      - Defaults to the host that is connected to.
    type: str
  sasl_kerberos_principal:
    description:
      - Our principal, for GSSAPI.
      - Defaults to that of O(command_config), or else to the one of the ticket cache.
    type: str
  sasl_kerberos_keytab:
    description:
      - File with the keys of O(sasl_kerberos_principal).
      - Defaults to that of O(command_config). Without one the ticket cache is used, which C(kinit) fills.
    type: path
  sasl_oauthbearer_token:
    description:
      - A token for OAUTHBEARER, in place of a client that fetches one.
    type: str
  sasl_oauthbearer_token_endpoint_url:
    description:
      - Where to fetch a token for OAUTHBEARER, by the client credentials grant.
    type: str
  sasl_oauthbearer_client_id:
    description:
      - Who fetches the token.
    type: str
  sasl_oauthbearer_client_secret:
    description:
      - The secret of who fetches the token.
    type: str
  sasl_oauthbearer_scope:
    description:
      - The scope to ask a token for.
    type: str
  sasl_oauthbearer_cafile:
    description:
      - PEM file with the CA certificates that the token endpoint's certificate is checked against.
      - Defaults to those in C(sasl.jaas.config) of O(command_config), or else to the system's.
    type: path
  sasl_oauthbearer_allow_http:
    description:
      - Whether the client's secret may be sent over plain http to a token endpoint on another host.
      - Defaults to V(false).
    type: bool
  ssl_cafile:
    description:
      - PEM file with the CA certificates that brokers' certificates are checked against.
      - Defaults to the system's.
    type: path
  ssl_certfile:
    description:
      - PEM file with our certificate, where brokers want one, and with the certificates that lead to its CA.
    type: path
  ssl_keyfile:
    description:
      - PEM file with the key of O(ssl_certfile).
      - Defaults to O(ssl_certfile) itself.
    type: path
  ssl_key_password:
    description:
      - Password of the key, where it is encrypted.
    type: str
  ssl_check_hostname:
    description:
      - Whether a broker's certificate must be for the host that is connected to.
      - Defaults to V(false) where C(ssl.endpoint.identification.algorithm) of O(command_config) is empty, or else to
        V(true).
    type: bool
requirements:
  - kafka-python >= 3.0
  - javaproperties, for O(command_config)
  - gssapi, for O(sasl_mechanism=GSSAPI)
  - botocore, for O(sasl_mechanism=AWS_MSK_IAM)
  - cryptography, for PKCS12 and JKS stores in O(command_config)
"""
