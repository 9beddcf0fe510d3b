"""What pylance reports if the gateway denies a commit: lance_denied_scenario.py OWNER_KEY URL KEY"""

import sys
import time

import lance
import lance_namespace
import pyarrow as pa
from lance_namespace import CreateNamespaceRequest, InsertIntoTableRequest

from steps import expect, expect_error, finish, step, stream

owner_key, url, key = sys.argv[1:]
version = int(lance.__version__.split(".")[0])
argument = "namespace_client" if version >= 7 else "namespace"
table_id = ["lake", "written"]
rows = pa.table({"id": pa.array([1, 2, 3], pa.int64())})


def connect(key):
    return lance_namespace.connect("rest", {"uri": url, "header.x-api-key": key})


def write(catalog, mode):
    return lance.write_dataset(rows, **{argument: catalog}, table_id=table_id, mode=mode)


def commit_without_retries(catalog):
    dataset = lance.dataset(**{argument: catalog}, table_id=table_id)
    operation = lance.LanceOperation.Append(lance.fragment.write_fragments(rows, dataset.uri))
    options = {argument: catalog, "table_id": table_id, "read_version": dataset.version, "max_retries": 0}
    lance.LanceDataset.commit(dataset, operation, **options)


def insert(catalog):
    catalog.insert_into_table(InsertIntoTableRequest(id=table_id, mode="append"), stream(rows))


def expect_error_soon(part, action):
    start = time.monotonic()
    expect_error(part, action)
    expect(time.monotonic() - start < 10, True)


owner = connect(owner_key)
denied = connect(key)
step("create a namespace", lambda: owner.create_namespace(CreateNamespaceRequest(id=table_id[:1])))
step("create", lambda: write(owner, "create"))
# Older versions retry a refused commit, with longer and longer pauses.
if version >= 14:
    step("append", lambda: expect_error_soon("Commit result for version 2", lambda: write(denied, "append")))
step("commit without retries", lambda: expect_error_soon("Commit ", lambda: commit_without_retries(denied)))
if version >= 7:
    step("insert", lambda: expect_error_soon("not allowed InsertIntoTable", lambda: insert(denied)))
left = lance.dataset(**{argument: owner}, table_id=table_id)
step("nothing was written", lambda: expect(left.count_rows(), 3))
finish()
