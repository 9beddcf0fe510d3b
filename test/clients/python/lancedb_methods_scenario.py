"""The methods of LanceDB's remote client that the other scenarios do not call: lancedb_methods_scenario.py URL KEY"""

import sys
from datetime import timedelta

import lancedb
import pyarrow as pa
from lancedb.index import BTree

from steps import expect, expect_error, finish, step

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
branch = step("create a branch", lambda: table.branches.create("draft"))
step("change it", lambda: branch.delete("id = 1"))
step("read it and main", lambda: expect([branch.count_rows(), table.count_rows()], [2, 3]))
step("its name", lambda: expect([branch.current_branch(), table.current_branch()], ["draft", None]))
step("check it out", lambda: expect(table.branches.checkout("draft").count_rows(), 2))
step("list branches", lambda: expect(list(table.branches.list()), ["draft"]))
step("delete it", lambda: table.branches.delete("draft"))

step("add a computed column", lambda: table.add_columns(computed={"twice": "id * 2"}))
step(
    "write a computed column",
    lambda: expect_error("is computed", lambda: table.update(values={"twice": 7})),
)
job = step("start a backfill", lambda: table.refresh_column_async("twice"))
step("wait for it", lambda: expect(job.wait(timeout).rows_assigned, 3))
step("find its job", lambda: expect(db.open_job(job.id).status(), "finished"))
step("list jobs", lambda: expect(db.list_jobs()[0].state, "finished"))
step("cancel a job", lambda: db.cancel_job(job.id))
view = {"select": {"id": "id"}, "where": "id > 1"}
step(
    "create a view in the background",
    lambda: db.create_materialized_view_async("few", "things", **view).wait(timeout),
)
step("open it", lambda: expect(db.open_materialized_view("few").table.count_rows(), 2))
step("drop it in the background", lambda: db.drop_materialized_view_async("few").wait(timeout))

# docs/catalog.md lists these.
for name, call in {
    "create_view": lambda: db.create_view("named", "SELECT * FROM things"),
    "describe_view": lambda: db.describe_view("named"),
    "list_views": lambda: db.list_views(),
    "drop_view": lambda: db.drop_view("named"),
    "get_function": lambda: db.get_function("named", version="1"),
    "list_functions": lambda: db.list_functions(),
    "drop_function": lambda: db.drop_function("named", version="1"),
}.items():
    step(name, lambda: expect_error("406 Not Acceptable", call))
for name, call in {
    "pause_job": lambda: db.pause_job(job.id),
    "resume_job": lambda: db.resume_job(job.id),
    "list_secrets": lambda: db.list_secrets(),
    "clone_table": lambda: db.clone_table("clone", "somewhere"),
}.items():
    step(name, lambda: expect_error("unknown route", call))
for name, call in {
    "prewarm_data": lambda: table.prewarm_data(),
    "prewarm_index": lambda: table.prewarm_index("id_idx"),
    "flush_lsm": lambda: table.flush_lsm(),
    "function_errors": lambda: table.function_errors(),
}.items():
    # The client reports every 404 so.
    step(name, lambda: expect_error("was not found", call))
step("drop in the background", lambda: db.drop_table_async("things").wait(timeout))
step("nothing is left", lambda: expect("things" in list(db.table_names()), False))
finish()
