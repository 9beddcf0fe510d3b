"""What a user does with a generated Python client: scenario.py ARROW_FILE URL KEY"""

import sys

import catalog

from steps import expect, finish, step

rows_file, url, key = sys.argv[1:]
configuration = catalog.Configuration(host=url, api_key={"apiKey": key})
client = catalog.ApiClient(configuration)
namespaces = catalog.NamespaceApi(client)
tables = catalog.TableApi(client)
with open(rows_file, "rb") as file:
    rows = file.read()


def describe_missing():
    try:
        tables.describe_table("python$missing", catalog.DescribeTableRequest())
    except catalog.exceptions.NotFoundException as error:
        expect((error.data.code, "missing" in error.data.error), (4, True))
        return
    raise AssertionError("expected an error")


query = catalog.QueryTableRequest(
    k=3,
    vector=catalog.QueryTableRequestVector(single_vector=[0.1, 0.2]),
    columns=catalog.QueryTableRequestColumns(column_names=["id"]),
)
detailed = catalog.DescribeTableRequest(load_detailed_metadata=True)
update = catalog.UpdateTableRequest(predicate="id = 1", updates=[["id", "id + 10"]])
columns = catalog.AlterTableAddColumnsRequest(
    new_columns=[catalog.AddColumnsEntry(name="twice", expression="id * 2")]
)
step("create a namespace", lambda: namespaces.create_namespace("python", catalog.CreateNamespaceRequest()))
step("create a table", lambda: tables.create_table("python$people", rows))
step("insert", lambda: expect(tables.insert_into_table("python$people", rows).num_inserted_rows, 3))
step("count", lambda: expect(tables.count_table_rows("python$people", catalog.CountTableRowsRequest()), 6))
step(
    "describe",
    lambda: expect(tables.describe_table("python$people", detailed).version, 2),
)
step("query", lambda: expect(bytes(tables.query_table("python$people", query))[:6], b"ARROW1"))
step("update", lambda: expect(tables.update_table("python$people", update).updated_rows, 2))
step("add a column", lambda: expect(tables.alter_table_add_columns("python$people", columns).version, 4))
step(
    "list versions",
    lambda: expect(tables.list_table_versions("python$people").versions[0].timestamp_millis > 1 << 40, True),
)
step("list tables", lambda: expect(namespaces.list_tables("python", limit=1).tables, ["people"]))
step("an error has its code", describe_missing)
step("drop the table", lambda: tables.drop_table("python$people"))
step("drop the namespace", lambda: namespaces.drop_namespace("python", catalog.DropNamespaceRequest()))
finish()
