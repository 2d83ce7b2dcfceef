"""A Kafka that asks who is there and what they may do: SCRAM, PLAIN, client certificates, tokens, and ACLs."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

import trustme
from confluent_kafka.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, load_pem_private_key

from pelton import kafka_config
from pelton.local_kafka import LocalKafka

PASSWORD = "hunter2-must-not-show"
PROTOCOLS = {"scram": "SASL_SSL", "plain": "SASL_PLAINTEXT", "mtls": "SSL", "oauth": "SASL_PLAINTEXT"}
PLAIN_USER = "plain-user"
Right = tuple[str, str, str]
"""An operation, a kind of resource, and its name: `("READ", "TOPIC", "payments")`; `events-*` is a prefix."""

_JAAS = "org.apache.kafka.common.security"
_CONFIG = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    # Whoever comes by the listener that asks nothing: the broker itself, and the test.
    "super.users": "User:ANONYMOUS",
    "ssl.keystore.type": "PEM",
    "ssl.truststore.type": "PEM",
    "listener.name.scram.sasl.enabled.mechanisms": "SCRAM-SHA-512,SCRAM-SHA-256",
    "listener.name.scram.scram-sha-512.sasl.jaas.config": f"{_JAAS}.scram.ScramLoginModule required;",
    "listener.name.scram.scram-sha-256.sasl.jaas.config": f"{_JAAS}.scram.ScramLoginModule required;",
    "listener.name.plain.sasl.enabled.mechanisms": "PLAIN",
    "listener.name.plain.plain.sasl.jaas.config": (
        f'{_JAAS}.plain.PlainLoginModule required user_{PLAIN_USER}="{PASSWORD}";'
    ),
    "listener.name.mtls.ssl.client.auth": "required",
    "listener.name.mtls.ssl.principal.mapping.rules": r"RULE:^.*CN=([a-z0-9-]+).*$/$1/,DEFAULT",
    "listener.name.oauth.sasl.enabled.mechanisms": "OAUTHBEARER",
    "listener.name.oauth.oauthbearer.sasl.jaas.config": (
        f'{_JAAS}.oauthbearer.OAuthBearerLoginModule required unsecuredLoginStringClaim_sub="broker";'
    ),
}


class Guarded:
    """The broker: `bootstrap` lets anybody do anything, the listeners of `PROTOCOLS` ask for names and rights."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._authority = folder, trustme.CA()
        self._authority.cert_pem.write_to_path(str(folder / "ca.pem"))
        self._certify("broker", "127.0.0.1")
        own, *asking = _ports(1 + len(PROTOCOLS) // 2)
        self._ports = dict(zip(PROTOCOLS, (port for ports in asking for port in ports), strict=True))
        (folder / "kafka").mkdir()
        kafka_config.write_ports(folder / "kafka" / "ports.json", kafka_config.Ports(*own))
        self.kafka = LocalKafka(folder / "kafka", config=self._config(*own))

    @property
    def bootstrap(self) -> str:
        """Where nobody is asked anything."""
        return self.kafka.bootstrap

    @cached_property
    def admin(self) -> AdminClient:
        """An admin client that may do anything."""
        return AdminClient({"bootstrap.servers": self.bootstrap, "log_level": 0})

    def user(self, name: str) -> None:
        """Let a user in by SCRAM, who may do nothing yet."""
        for mechanism in (ScramMechanism.SCRAM_SHA_256, ScramMechanism.SCRAM_SHA_512):
            wanted = UserScramCredentialUpsertion(name, ScramCredentialInfo(mechanism, 4096), PASSWORD.encode())
            self.admin.alter_user_scram_credentials([wanted])[name].result(20)

    def properties(self, name: str, kind: str = "scram", password: str = PASSWORD) -> dict[str, Any]:
        """Return what a client needs to be that user."""
        protocol = PROTOCOLS[kind]
        properties = {"bootstrap.servers": f"127.0.0.1:{self._ports[kind]}", "security.protocol": protocol.lower()}
        if protocol.endswith("SSL"):
            properties["ssl.ca.location"] = str(self._folder / "ca.pem")
        if kind == "mtls":
            key, chain = self._certify(name, f"{name}.test")
            return {**properties, "ssl.key.location": key, "ssl.certificate.location": chain}
        if kind == "oauth":
            # Made and renewed by the client itself, without a signature; Kafka takes such tokens in tests only.
            token = {"enable.sasl.oauthbearer.unsecure.jwt": "true", "sasl.oauthbearer.config": f"principal={name}"}
            return {**properties, "sasl.mechanism": "OAUTHBEARER", **token}
        mechanism = "PLAIN" if kind == "plain" else "SCRAM-SHA-512"
        return {**properties, "sasl.mechanism": mechanism, "sasl.username": name, "sasl.password": password}

    def allow(self, name: str, rights: Iterable[Right]) -> None:
        """Grant rights to a user."""
        if bindings := [_binding(name, *right) for right in rights]:
            for future in self.admin.create_acls(bindings).values():
                future.result(20)

    @contextmanager
    def allowing(self, name: str, rights: Iterable[Right]) -> Iterator[None]:
        """Grant rights to a user for a while: those to everything would be seen in every test after this."""
        self.allow(name, rights)
        try:
            yield
        finally:
            self.forbid(name)

    def forbid(self, name: str, right: Right | None = None) -> None:
        """Take a right of a user back, or every one."""
        given = None if right is None else _binding(name, *right)
        filtered = AclBindingFilter(
            given.restype if given else ResourceType.ANY,
            given.name if given else None,
            given.resource_pattern_type if given else ResourcePatternType.ANY,
            f"User:{name}",
            None,
            given.operation if given else AclOperation.ANY,
            AclPermissionType.ANY,
        )
        for future in self.admin.delete_acls([filtered]).values():
            assert future.result(20) or not given, f"there was no such right: {right}"

    def _certify(self, name: str, host: str) -> tuple[str, str]:
        """Make key and certificate; return the paths of both, beside which `<name>.pem` holds them together."""
        made = self._authority.issue_cert(host, common_name=name)
        key = load_pem_private_key(made.private_key_pem.bytes(), None)
        key_pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())  # Kafka reads no other form
        chain_pem = b"".join(blob.bytes() for blob in made.cert_chain_pems)
        key_file, chain_file = self._folder / f"{name}.key", self._folder / f"{name}.crt"
        key_file.write_bytes(key_pem)
        chain_file.write_bytes(chain_pem)
        (self._folder / f"{name}.pem").write_bytes(key_pem + chain_pem)
        return str(key_file), str(chain_file)

    def _config(self, client: int, controller: int) -> dict[str, str]:
        asking = {f"{kind.upper()}://127.0.0.1:{port}" for kind, port in self._ports.items()}
        protocols = {"PLAINTEXT": "PLAINTEXT", "CONTROLLER": "PLAINTEXT"}
        protocols |= {kind.upper(): protocol for kind, protocol in PROTOCOLS.items()}
        advertised = {f"PLAINTEXT://127.0.0.1:{client}", *asking}
        return {
            **_CONFIG,
            "listeners": ",".join([*advertised, f"CONTROLLER://127.0.0.1:{controller}"]),
            "advertised.listeners": ",".join(advertised),
            "listener.security.protocol.map": ",".join(f"{name}:{protocol}" for name, protocol in protocols.items()),
            "ssl.keystore.location": str(self._folder / "broker.pem"),
            "ssl.truststore.location": str(self._folder / "ca.pem"),
        }


def _ports(n: int) -> list[tuple[int, int]]:
    """Return so many pairs of free ports, all different."""
    while True:
        pairs = [(each.client, each.controller) for each in (kafka_config.choose_ports(None, None) for _ in range(n))]
        if len({port for pair in pairs for port in pair}) == 2 * n:
            return pairs


def _binding(user: str, operation: str, kind: str, name: str) -> AclBinding:
    prefixed = name.endswith("*") and name != "*"
    return AclBinding(
        ResourceType.BROKER if kind == "CLUSTER" else ResourceType[kind],
        name.removesuffix("*") if prefixed else name,
        ResourcePatternType.PREFIXED if prefixed else ResourcePatternType.LITERAL,
        f"User:{user}",
        "*",
        AclOperation[operation],
        AclPermissionType.ALLOW,
    )
