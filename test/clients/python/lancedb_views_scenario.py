"""Computed columns, materialized views and jobs with the remote client of LanceDB: lancedb_views_scenario.py URL KEY"""

import sys
from datetime import timedelta

import lancedb
import pyarrow as pa

from steps import expect, expect_error, finish, step

url, key = sys.argv[1:]
db = lancedb.connect("db://any", api_key=key, host_override=url)
rows = pa.table({"id": pa.array([1, 2, 3], pa.int64()), "name": ["a", "b", "c"]})
source = step("create", lambda: db.create_table("source", rows, mode="overwrite"))
timeout = timedelta(seconds=60)


def read(table):
    return sorted(table.search().to_list(), key=lambda row: row["id"])


step("add a computed column", lambda: source.add_columns(computed={"tenfold": "id * 10"}))
job = step("start a backfill", lambda: source.refresh_column_async("tenfold"))
step("wait for it", lambda: expect(job.wait(timeout).rows_assigned, 3))
step("read the column", lambda: expect([row["tenfold"] for row in read(source)], [10, 20, 30]))
step("status of the job", lambda: expect(job.status(), "finished"))
step("events of the job", lambda: expect("DONE" in job.events()["state"].to_pylist(), True))
step("cancel the job after its end", job.cancel)
view = step(
    "create a view with data",
    lambda: db.create_materialized_view(
        "top", "source", select={"id": "id", "upper": "upper(name)"}, where="id > 1"
    ),
)
top = [{"id": 2, "upper": "B"}, {"id": 3, "upper": "C"}]
step("read the view", lambda: expect(read(view.table), top))
step("delete from the source", lambda: source.delete("id = 2"))
step("refresh the view", lambda: expect(view.refresh().rows_written, 1))
step("read it again", lambda: expect(read(view.table), top[1:]))
step("definition of the view", lambda: expect("upper(name)" in view.definition.query, True))
step(
    "write into the view",
    lambda: expect_error("materialized view", lambda: view.table.delete("id = 3")),
)
step("list views", lambda: expect("top" in db.list_materialized_views(), True))
step("create an empty view", lambda: db.create_materialized_view("empty", "source", with_no_data=True))
step("count its rows", lambda: expect(db.open_table("empty").count_rows(), 0))
for name in ["top", "empty"]:
    step(f"drop the view {name}", lambda: db.drop_materialized_view(name))
step("no view is left", lambda: expect(db.list_materialized_views(), []))
step("drop", lambda: db.drop_table("source"))
finish()
