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
      - The brokers to ask first, each as V(host:port). Write an IPv6 address in brackets, as in V([::1]:9092).
      - A string with commas is accepted too.
      - If one broker does not answer, another one is asked. So name more than one.
      - One of O(bootstrap_servers) and O(command_config) is required.
    type: list
    elements: str
  command_config:
    description:
      - Path of a Java C(client.properties), as for C(--command-config) of Kafka's own tools.
      - Module options override the file.
      - A file that Kafka's own tools accept works unchanged. Key and trust stores may be PKCS12, JKS (read by Java's
        keytool) or PEM, in files or inline. References to C(FileConfigProvider), C(EnvVarConfigProvider) and
        C(DirectoryConfigProvider) are resolved where the module runs.
      - Properties that the module cannot follow are refused by name, before any connection is opened. See
        docs/connecting.md.
    type: path
  request_timeout_ms:
    description:
      - Milliseconds that one attempt at one broker may take, including connection and authentication.
      - Defaults to C(request.timeout.ms) of O(command_config), or else to V(5000).
    type: int
  security_protocol:
    description:
      - The security protocol of the brokers.
      - Defaults to C(security.protocol) of O(command_config), or else to V(PLAINTEXT).
    type: str
    choices: [PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL]
  sasl_mechanism:
    description:
      - The SASL mechanism, if O(security_protocol) uses SASL.
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
      - Defaults to the broker's host name.
    type: str
  sasl_kerberos_principal:
    description:
      - The client's principal, for GSSAPI.
      - Defaults to that of O(command_config), or else to that of the ticket cache.
    type: str
  sasl_kerberos_keytab:
    description:
      - File with the keys of O(sasl_kerberos_principal).
      - Defaults to that of O(command_config). Without a keytab, the ticket cache of C(kinit) is used.
    type: path
  sasl_oauthbearer_token:
    description:
      - A token for OAUTHBEARER. Use it instead of a client that fetches a token.
    type: str
  sasl_oauthbearer_token_endpoint_url:
    description:
      - URL to fetch a token for OAUTHBEARER from, by the client credentials grant.
    type: str
  sasl_oauthbearer_client_id:
    description:
      - Id of the client that fetches the token.
    type: str
  sasl_oauthbearer_client_secret:
    description:
      - Secret of the client that fetches the token.
    type: str
  sasl_oauthbearer_scope:
    description:
      - The scope to ask a token for.
    type: str
  sasl_oauthbearer_cafile:
    description:
      - PEM file with the CA certificates for the token endpoint's certificate.
      - Defaults to those in C(sasl.jaas.config) of O(command_config), or else to the system's.
    type: path
  sasl_oauthbearer_allow_http:
    description:
      - Whether the client's secret may be sent over plain http to a token endpoint on another host.
      - Defaults to V(false).
    type: bool
  ssl_cafile:
    description:
      - PEM file with the CA certificates for the brokers' certificates.
      - Defaults to the system's.
    type: path
  ssl_certfile:
    description:
      - PEM file with the client's certificate chain, if brokers require a client certificate.
    type: path
  ssl_keyfile:
    description:
      - PEM file with the key of O(ssl_certfile).
      - Defaults to O(ssl_certfile) itself.
    type: path
  ssl_key_password:
    description:
      - Password of the key, if it is encrypted.
    type: str
  ssl_check_hostname:
    description:
      - Whether a broker's certificate must match its host name.
      - Defaults to V(false) where C(ssl.endpoint.identification.algorithm) of O(command_config) is empty, or else to
        V(true).
    type: bool
requirements:
  - kafka-python >= 3.0
  - javaproperties >= 0.8
  - jsonschema >= 4.26
  - gssapi, for O(sasl_mechanism=GSSAPI)
  - botocore, for O(sasl_mechanism=AWS_MSK_IAM)
  - cryptography, for PKCS12 and JKS stores in O(command_config)
"""
