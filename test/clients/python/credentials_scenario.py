"""Tokens and a private authority: credentials_scenario.py CA_FILE OTHER_TOKEN URL TOKEN"""

import asyncio
import sys

import lancedb
from lancedb.remote import ClientConfig, HeaderProvider, TlsConfig

from steps import expect, expect_error, finish, step

ca_file, other_token, url, token = sys.argv[1:]
tls = TlsConfig(ssl_ca_cert=ca_file)
rows = [{"id": 1, "vector": [0.1, 0.2]}]


class Provider(HeaderProvider):
    def __init__(self):
        self.token = token

    def get_headers(self):
        return {"authorization": f"Bearer {self.token}"}


def configure(**config):
    return {"api_key": "", "host_override": url, "client_config": ClientConfig(tls_config=tls, **config)}


def write(name, config, use_other_token=lambda: None):
    db = lancedb.connect("db://any", **config)
    table = db.create_table(name, rows, mode="overwrite")
    use_other_token()
    table.add(rows)
    expect(table.count_rows(), 2)


async def write_async(name, config, use_other_token=lambda: None):
    db = await lancedb.connect_async("db://any", **config)
    table = await db.create_table(name, rows, mode="overwrite")
    use_other_token()
    await table.add(rows)
    expect(await table.count_rows(), 2)


def with_provider(name, write):
    provider = Provider()
    config = configure(header_provider=provider)
    return write(name, config, lambda: setattr(provider, "token", other_token))


with_token = configure(extra_headers={"authorization": f"Bearer {token}"})
step("token", lambda: write("token", with_token))
step("token, asynchronous", lambda: asyncio.run(write_async("token_async", with_token)))
step("provider", lambda: with_provider("provider", write))
step("provider, asynchronous", lambda: asyncio.run(with_provider("provider_async", write_async)))
forged = configure(extra_headers={"authorization": f"Bearer {token[:-8]}AAAAAAAA"})
step("refuse a forged token", lambda: expect_error("401", lambda: write("forged", forged)))
with_both = {**with_token, "api_key": "key"}
step("refuse a key beside a token", lambda: expect_error("401", lambda: write("both", with_both)))
unknown = {"api_key": token, "host_override": url}
step("refuse an unknown authority", lambda: expect_error("UnknownIssuer", lambda: write("unknown", unknown)))
finish()
