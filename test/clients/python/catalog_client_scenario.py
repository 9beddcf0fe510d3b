"""Every operation of the generated catalog client: catalog_client_scenario.py URL KEY"""

import shutil
import sys
import tempfile
from pathlib import Path
from uuid import uuid4

import lance
import lance_namespace_urllib3_client as generated
import pyarrow as pa

from steps import expect, expect_error, finish, reported, step, stream

url, key = sys.argv[1:]
models = generated.models
client = generated.ApiClient(generated.Configuration(host=url, api_key={"ApiKeyAuth": key}))
variants = ("_with_http_info", "_without_preload_content")
operations = {
    operation: getattr(api, operation)
    for api in [getattr(generated, name)(client) for name in dir(generated) if name.endswith("Api")]
    for operation in vars(type(api))
    if not operation.startswith("_") and not operation.endswith(variants)
}
not_called = set(operations)
vectors = pa.array([[i / 10] * 4 for i in range(3)], pa.list_(pa.float32(), 4))
rows = pa.table({"id": pa.array([1, 2, 3], pa.int64()), "text": ["one", "two", "three"], "v": vectors})
vector = models.QueryTableRequestVector(single_vector=[0.1] * 4)
# With the default delimiter.
people = "all$people"


def call(operation, *arguments, **options):
    not_called.discard(operation)
    return operations[operation](*arguments, **options)


def count(table=people, **request):
    return call("count_table_rows", table, models.CountTableRowsRequest(**request))


def describe(table):
    return call("describe_table", table, models.DescribeTableRequest(), load_detailed_metadata=True)


def stage_version(table):
    """Writes the next version of a table, with three more rows, as a client does before it commits."""
    location = Path(describe(table).location)
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder, "copy.lance")
        shutil.copytree(location, copy)
        version = lance.write_dataset(rows, copy, mode="append").version
        shutil.copytree(copy / "data", location / "data", dirs_exist_ok=True)
        manifest = f"{2**64 - 1 - version:020}.manifest"
        staged = location / "_versions" / f"{manifest}-{uuid4()}"
        shutil.copy(copy / "_versions" / manifest, staged)
    return {
        "version": version,
        "manifest_path": str(staged)[1:],
        "manifest_size": staged.stat().st_size,
        "naming_scheme": "V2",
    }


with reported("namespaces"):
    call("create_namespace", "all", models.CreateNamespaceRequest(properties={"owner": "ann"}))
    expect(call("list_namespaces", "$").namespaces, ["all"])
    expect(call("describe_namespace", "all", models.DescribeNamespaceRequest()).properties["owner"], "ann")
    call("namespace_exists", "all", models.NamespaceExistsRequest())
with reported("tables"):
    call("create_table", people, stream(rows), mode="create")
    call("declare_table", "all$declared", models.DeclareTableRequest())
    expect(call("list_tables", "all", include_declared=False).tables, ["people"])
    expect(sorted(call("list_all_tables").tables), ["all$declared", people])
    call("table_exists", people, models.TableExistsRequest())
    expect(describe(people).version, 1)
with reported("rows"):
    call("insert_into_table", people, stream(rows), mode="append")
    expect(count(), 6)
    call("update_table", people, models.UpdateTableRequest(predicate="id = 1", updates=[["text", "'new'"]]))
    expect(count(predicate="text = 'new'"), 2)
    call("delete_from_table", people, models.DeleteFromTableRequest(predicate="id = 2"))
    missing = stream(rows.slice(1, 1))
    call("merge_insert_into_table", people, ["id"], missing, when_not_matched_insert_all=True)
    expect(count(), 5)
with reported("queries"):
    query = models.QueryTableRequest(k=2, vector=vector, vector_column="v")
    found = pa.ipc.open_file(pa.BufferReader(bytes(call("query_table", people, query)))).read_all()
    expect(found.num_rows, 2)
    request = models.ExplainTableQueryPlanRequest(query=query)
    expect("KNN" in call("explain_table_query_plan", people, request), True)
    request = models.AnalyzeTableQueryPlanRequest(k=2, vector=vector, vector_column="v")
    expect("KNN" in call("analyze_table_query_plan", people, request), True)
with reported("columns"):
    new_columns = [models.AddColumnsEntry(name="twice", expression="id * 2")]
    call("alter_table_add_columns", people, models.AlterTableAddColumnsRequest(new_columns=new_columns))
    alterations = [models.AlterColumnsEntry(path="twice", rename="double")]
    call("alter_table_alter_columns", people, models.AlterTableAlterColumnsRequest(alterations=alterations))
    call("alter_table_drop_columns", people, models.AlterTableDropColumnsRequest(columns=["double"]))
    updates = [models.UpdateFieldMetadataEntry(path="id", metadata={"unit": "m"})]
    call("update_field_metadata", people, models.UpdateFieldMetadataRequest(updates=updates))
    expect(call("update_table_schema_metadata", people, {"owner": "ann"}), {"owner": "ann"})
with reported("indices"):
    index = models.CreateTableIndexRequest(column="text", index_type="FTS", name="text_idx")
    call("create_table_index", people, index)
    index = models.CreateTableIndexRequest(column="id", index_type="BTREE", name="id_idx")
    call("create_table_scalar_index", people, index)
    listed = call("list_table_indices", people, models.ListTableIndicesRequest()).indexes
    expect(sorted(index.index_name for index in listed), ["id_idx", "text_idx"])
    statistics = call("describe_table_index_stats", people, "id_idx", models.DescribeTableIndexStatsRequest())
    expect(statistics.num_indexed_rows, 5)
    call("drop_table_index", people, "id_idx")
with reported("tags"):
    call("create_table_tag", people, models.CreateTableTagRequest(tag="first", version=1))
    call("update_table_tag", people, models.UpdateTableTagRequest(tag="first", version=2))
    tag = models.GetTableTagVersionRequest(tag="first")
    expect(call("get_table_tag_version", people, tag).version, 2)
    expect(list(call("list_table_tags", people).tags), ["first"])
    call("delete_table_tag", people, models.DeleteTableTagRequest(tag="first"))
with reported("branches"):
    call("create_table_branch", people, models.CreateTableBranchRequest(name="side"))
    expect(list(call("list_table_branches", people).branches), ["side"])
    call("delete_table_branch", people, models.DeleteTableBranchRequest(name="side"))
with reported("versions"):
    call("restore_table", people, models.RestoreTableRequest(version=1))
    expect(count(), 3)
    expect(call("get_table_stats", people, models.GetTableStatsRequest()).num_rows, 3)
    request = models.DescribeTableVersionRequest(version=1)
    expect(call("describe_table_version", people, request).version.version, 1)
    ranges = [models.VersionRange(start_version=2, end_version=3)]
    call("batch_delete_table_versions", people, models.BatchDeleteTableVersionsRequest(ranges=ranges))
    expect(call("list_table_versions", people, limit=1, descending=True).versions[0].version > 3, True)
with reported("commits"):
    call("create_table", "all$committed", stream(rows))
    version = models.CreateTableVersionRequest(**stage_version("all$committed"))
    call("create_table_version", "all$committed", version)
    expect(count("all$committed"), 6)
    entry = models.CreateTableVersionEntry(id=["all", "committed"], **stage_version("all$committed"))
    call("batch_create_table_versions", models.BatchCreateTableVersionsRequest(entries=[entry]))
    expect(count("all$committed"), 9)
    version = models.CreateTableVersionRequest(id=["all", "committed"], **stage_version("all$committed"))
    declared = models.DeclareTableRequest(id=["all", "declared_too"])
    changes = [{"create_table_version": version}, {"declare_table": declared}]
    operations_to_commit = [models.CommitTableOperation(**change) for change in changes]
    call("batch_commit_tables", models.BatchCommitTablesRequest(operations=operations_to_commit))
    expect(count("all$committed"), 12)
with reported("transactions"):
    transaction = f"{people}$1"
    status = call("describe_transaction", transaction, models.DescribeTransactionRequest()).status
    expect(status.lower(), "succeeded")
    action = models.AlterTransactionSetProperty(key="a", value="b")
    actions = [models.AlterTransactionAction(set_property_action=action)]
    request = models.AlterTransactionRequest(actions=actions)
    expect_error("(406)", lambda: call("alter_transaction", transaction, request))
with reported("materialized views, and backfills of plain columns"):
    view = models.CreateMaterializedViewRequest(kind="query", source_query="select 1", output_schema="")
    expect_error("(406)", lambda: call("create_materialized_view", "all$view", view))
    expect_error("(406)", lambda: call("refresh_materialized_view", people))
    backfill = models.AlterTableBackfillColumnsRequest(column="id")
    expect_error("(400)", lambda: call("alter_table_backfill_columns", people, backfill))
with reported("rename, register and remove"):
    call("rename_table", people, models.RenameTableRequest(new_table_name="persons"))
    location = call("deregister_table", "all$persons", models.DeregisterTableRequest()).location
    expect_error("(404)", lambda: describe("all$persons"))
    call("register_table", people, models.RegisterTableRequest(location=Path(location).name))
    expect(count(), 3)
    for table in ["people", "committed", "declared", "declared_too"]:
        call("drop_table", f"all${table}")
    call("drop_namespace", "all", models.DropNamespaceRequest())
    expect(call("list_namespaces", "$").namespaces, [])
step("every operation was called", lambda: expect(sorted(not_called), []))
finish()
