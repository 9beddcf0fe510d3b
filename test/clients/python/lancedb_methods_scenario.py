"""The methods of LanceDB's remote client that the other scenarios do not call: lancedb_methods_scenario.py URL KEY"""

import sys
from datetime import timedelta
from uuid import uuid4

import lancedb
import pyarrow as pa
from lancedb import LsmWriteSpec
from lancedb.functions import udf
from lancedb.index import FTS, BTree

from steps import expect, expect_error, expect_kind, finish, step

url, key = sys.argv[1:]
db = lancedb.connect("db://any", api_key=key, host_override=url)
rows = pa.table({"id": pa.array([1, 2, 3], pa.int64()), "text": ["dog one", "cat two", "dog three"]})
timeout = timedelta(seconds=60)
table = step("create", lambda: db.create_table("things", rows, mode="overwrite"))

step("create a namespace", lambda: db.create_namespace(["shelf"], properties={"owner": "ann"}))
step("describe it", lambda: expect(db.describe_namespace(["shelf"]).properties, {"owner": "ann"}))
step("list namespaces", lambda: expect("shelf" in db.list_namespaces().namespaces, True))
step("drop it", lambda: db.drop_namespace(["shelf"]))
step("rename", lambda: db.rename_table("things", "renamed"))
step("rename back", lambda: db.rename_table("renamed", "things"))

step("location", lambda: expect(table.uri.endswith(".lance"), True))
step("version", lambda: expect(table.version, 1))
step("head", lambda: expect(table.head(2).num_rows, 2))
step("columns of blobs", lambda: expect(table.blob_columns(), []))
step("metadata of a field", lambda: table.update_field_metadata({"path": "id", "metadata": {"unit": "m"}}))
step("read it", lambda: expect(table.schema.field("id").metadata, {b"unit": b"m"}))
step("rows by position", lambda: expect(table.take_offsets([2]).to_list()[0]["text"], "dog three"))
row = step("id of a row", lambda: table.search().where("id = 2").with_row_id(True).to_list()[0]["_rowid"])
step("row by its id", lambda: expect(table.take_row_ids([row]).to_list()[0]["text"], "cat two"))

step("create an index", lambda: table.create_index_async("id", config=BTree()).wait(timeout))
step("wait for it", lambda: table.wait_for_index([table.list_indices()[0].name], timeout))
step("prewarm it", lambda: table.prewarm_index("id_idx"))
step("prewarm a missing one", lambda: expect_error("absent", lambda: table.prewarm_index("absent")))
step("prewarm columns", lambda: table.prewarm_data(["id"]))
step("create a text index", lambda: table.create_index("text", config=FTS()))
step("tokenize", lambda: expect([token.text for token in table.tokenize("a dog", column="text")], ["dog"]))
step("drop it", lambda: table.drop_index("text_idx"))
for clean_up in ["optimize", "cleanup_old_versions", "compact_files"]:
    step(f"{clean_up} has no effect", getattr(table, clean_up))
step("describe its functions", lambda: expect(table.embedding_functions, {}))
branch = step("create a branch", lambda: table.branches.create("draft"))
step("change it", lambda: branch.delete("id = 1"))
step("read it and main", lambda: expect([branch.count_rows(), table.count_rows()], [2, 3]))
step("its name", lambda: expect([branch.current_branch(), table.current_branch()], ["draft", None]))
step("check it out", lambda: expect(table.branches.checkout("draft").count_rows(), 2))
step("list branches", lambda: expect(list(table.branches.list()), ["draft"]))
step("tag it", lambda: table.tags.create("kept", 1))
step("version of the tag", lambda: expect(table.tags.get_version("kept"), 1))
step("list tags", lambda: expect(list(table.tags.list()), ["kept"]))
step("move the tag", lambda: table.tags.update("kept", 2))
step("delete the tag", lambda: table.tags.delete("kept"))
step("branch again", lambda: table.branches.create("kept"))
step("delete it", lambda: table.branches.delete("draft"))

step("add a computed column", lambda: table.add_columns(computed={"twice": "id * 2"}))
job = step("start a backfill", lambda: table.refresh_column_async("twice"))
step("wait for it", lambda: expect(job.wait(timeout).rows_assigned, 3))
step("read the column", lambda: expect(sorted(row["twice"] for row in table.search().to_list()), [2, 4, 6]))
step("events of the job", lambda: expect("DONE" in job.events()["state"].to_pylist(), True))
step("find its job", lambda: expect(db.open_job(job.id).status(), "finished"))
step("list jobs", lambda: expect(db.list_jobs()[0].state, "finished"))
step("cancel it after its end", job.cancel)
step("cancel a job", lambda: db.cancel_job(job.id))


@udf
def double(id: int) -> int:
    return 2 * id


view = {"select": {"id": "id"}}
# docs/catalog.md lists these.
for name, call in {
    "create_materialized_view": lambda: db.create_materialized_view("few", "things", **view),
    "create_materialized_view_async": lambda: db.create_materialized_view_async("few", "things", **view),
    "open_materialized_view": lambda: db.open_materialized_view("things"),
    "list_materialized_views": lambda: db.list_materialized_views(),
    "drop_materialized_view": lambda: db.drop_materialized_view("things"),
    "drop_materialized_view_async": lambda: db.drop_materialized_view_async("things"),
    "drop_view_async": lambda: db.drop_view_async("named"),
    "diff": lambda: table.branches.diff("kept"),
    "cherry_pick": lambda: table.branches.cherry_pick("kept"),
    "checkpoint_lsm": lambda: table.checkpoint_lsm(),
    "create_view": lambda: db.create_view("named", "SELECT * FROM things"),
    "describe_view": lambda: db.describe_view("named"),
    "list_views": lambda: db.list_views(),
    "drop_view": lambda: db.drop_view("named"),
    "flush_lsm": lambda: table.flush_lsm(),
    "compact_lsm": lambda: table.compact_lsm(),
    "get_lsm_stats": lambda: table.get_lsm_stats(),
    "get_lsm_write_spec": lambda: table.get_lsm_write_spec(),
    "set_lsm_write_spec": lambda: table.set_lsm_write_spec(LsmWriteSpec.unsharded()),
    "unset_lsm_write_spec": lambda: table.unset_lsm_write_spec(),
    "pause_job": lambda: db.pause_job(job.id),
    "resume_job": lambda: db.resume_job(job.id),
    "function_errors": lambda: table.function_errors(),
    "clone_table": lambda: db.clone_table("clone", "somewhere"),
    "create_secret": lambda: db.create_secret("named", "value"),
    "alter_secret": lambda: db.alter_secret("named", "another value"),
    "describe_secret": lambda: db.describe_secret("named"),
    "list_secrets": lambda: db.list_secrets(),
    "drop_secret": lambda: db.drop_secret("named"),
    "create_function": lambda: db.create_function(double),
    "create_function_async": lambda: db.create_function_async(double),
    "get_function": lambda: db.get_function("double", version="1"),
    "list_functions": lambda: list(db.list_functions()),
    "drop_function": lambda: db.drop_function("double", version="1"),
    "drop_function_async": lambda: db.drop_function_async("double", version="1"),
}.items():
    step(name, lambda: expect_error('"code":0', call))

# The client sends no request for these: it cannot do them remotely, or not with this server.
for name, call in {
    "drop_all_tables": lambda: db.drop_all_tables(),
    "drop_database": lambda: db.drop_database(),
    "namespace_exists": lambda: db.namespace_exists(["shelf"]),
    "table_exists": lambda: db.table_exists(["things"]),
    "refresh_column": lambda: table.refresh_column("twice"),
    "set_unenforced_primary_key": lambda: table.set_unenforced_primary_key("id"),
    "uses_v2_manifest_paths": lambda: table.uses_v2_manifest_paths(),
    "migrate_v2_manifest_paths": lambda: table.migrate_v2_manifest_paths(),
    "fetch_blobs": lambda: table.fetch_blobs("text", row_ids=[row]),
    "fetch_blob_files": lambda: table.fetch_blob_files("text", row_ids=[row]),
    "fetch_blob_ranges": lambda: table.fetch_blob_ranges("text", []),
    "to_lance": lambda: table.to_lance(),
    "to_pandas": lambda: table.to_pandas(),
    "to_polars": lambda: table.to_polars(),
}.items():
    step(name, lambda: expect_kind(NotImplementedError, call))
step("close the writers", lambda: table.close_lsm_writers())
step("serialize", lambda: expect("db://any" in db.serialize(), True))
# SQL is sent by another protocol, to a server that the bundled catalog is not.
step("execute_query", lambda: expect_error("transport", lambda: db.execute_query("SELECT 1")))
step("execute_query_async", lambda: expect_error("transport", lambda: db.execute_query_async("SELECT 1")))
step("describe_query", lambda: expect_error("Unknown", lambda: db.describe_query(uuid4())))
step("drop in the background", lambda: db.drop_table_async("things").wait(timeout))
step("nothing is left", lambda: expect("things" in list(db.table_names()), False))
finish()
