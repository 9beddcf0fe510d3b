"""Computed columns and jobs with the remote client of LanceDB: lancedb_jobs_scenario.py URL KEY"""

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
step("drop", lambda: db.drop_table("source"))
finish()
