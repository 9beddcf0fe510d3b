"""Writes and commits a table through a catalog with pylance: lance_scenario.py URL KEY"""

import sys

import lance
import lance_namespace
import pyarrow as pa
from lance_namespace import (
    CountTableRowsRequest,
    CreateNamespaceRequest,
    CreateTableRequest,
    DescribeTableRequest,
    InsertIntoTableRequest,
    ListTablesRequest,
    QueryTableRequest,
)
from lance_namespace_urllib3_client.models import QueryTableRequestVector

from steps import expect, finish, step, stream

url, key = sys.argv[1:]
version = int(lance.__version__.split(".")[0])
# The name of the argument for the catalog.
argument = "namespace_client" if version >= 7 else "namespace"
catalog = lance_namespace.connect("rest", {"uri": url, "header.x-api-key": key})
namespace = ["lake"]
written = [*namespace, "written"]
streamed = [*namespace, "streamed"]
vectors = pa.array([[i / 10] * 4 for i in range(3)], pa.list_(pa.float32(), 4))
rows = pa.table({"id": pa.array([1, 2, 3], pa.int64()), "v": vectors})


def write(mode):
    return lance.write_dataset(rows, **{argument: catalog}, table_id=written, mode=mode)


def read():
    return lance.dataset(**{argument: catalog}, table_id=written)


step("create a namespace", lambda: catalog.create_namespace(CreateNamespaceRequest(id=namespace)))
step("write and declare a table", lambda: write("create"))
step("append and commit", lambda: write("append"))
step("read", lambda: expect(read().count_rows(), 6))
step("delete and commit", lambda: read().delete("id = 1"))
step("read what is left", lambda: expect(read().count_rows(), 4))
step(
    "create by a stream",
    lambda: catalog.create_table(CreateTableRequest(id=streamed), stream(rows)),
)
if version >= 7:
    step(
        "insert by a stream",
        lambda: catalog.insert_into_table(InsertIntoTableRequest(id=streamed, mode="append"), stream(rows)),
    )
    counted = step("count", lambda: catalog.count_table_rows(CountTableRowsRequest(id=streamed)))
    step("count of rows", lambda: expect(counted.count if version >= 14 else counted, 6))
    step(
        "query",
        lambda: catalog.query_table(
            QueryTableRequest(
                id=streamed,
                k=2,
                vector=QueryTableRequestVector(single_vector=[0.1] * 4),
                vector_column="v",
            )
        ),
    )
step("describe", lambda: catalog.describe_table(DescribeTableRequest(id=written)))
step(
    "list",
    lambda: expect(
        sorted(catalog.list_tables(ListTablesRequest(id=namespace)).tables), ["streamed", "written"]
    ),
)
finish()
