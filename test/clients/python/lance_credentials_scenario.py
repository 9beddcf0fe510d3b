"""Tokens and a private authority with pylance: lance_credentials_scenario.py CA_FILE URL TOKEN"""

import sys

import lance
import lance_namespace
import lance_namespace_urllib3_client as generated
import pyarrow as pa
from lance_namespace import CreateNamespaceRequest, ListNamespacesRequest

from steps import expect, expect_error, finish, step

ca_file, url, token = sys.argv[1:]
settings = {"uri": url, "header.authorization": f"Bearer {token}", "tls.ssl_ca_cert": ca_file}
table_id = ["lake", "written"]


def write(mode):
    rows = pa.table({"id": pa.array([1, 2, 3], pa.int64())})
    lance.write_dataset(rows, namespace_client=catalog, table_id=table_id, mode=mode)


def list_with(settings):
    return lance_namespace.connect("rest", settings).list_namespaces(ListNamespacesRequest(id=[]))


def list_generated():
    configuration = generated.Configuration(host=url, access_token=token, ssl_ca_cert=ca_file)
    api = generated.NamespaceApi(generated.ApiClient(configuration))
    return api.list_namespaces("$").namespaces


catalog = lance_namespace.connect("rest", settings)
step("create a namespace", lambda: catalog.create_namespace(CreateNamespaceRequest(id=["lake"])))
step("create", lambda: write("create"))
step("append", lambda: write("append"))
step("read", lambda: expect(lance.dataset(namespace_client=catalog, table_id=table_id).count_rows(), 6))
step("generated client", lambda: expect(list_generated(), ["lake"]))
forged = {**settings, "header.authorization": f"Bearer {token[:-8]}AAAAAAAA"}
step("refuse a forged token", lambda: expect_error("invalid bearer token", lambda: list_with(forged)))
unknown = {"uri": url, "header.authorization": f"Bearer {token}"}
step("refuse an unknown authority", lambda: expect_error("UnknownIssuer", lambda: list_with(unknown)))
finish()
