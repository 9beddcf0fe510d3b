"""Inserts in several parts into a table that the catalog has: lancedb_multipart_scenario.py URL KEY"""

import sys

import lancedb
import pyarrow as pa

from steps import expect, expect_error, finish, step

url, key = sys.argv[1:]
batches = [pa.record_batch({"id": pa.array(ids, pa.int32())}) for ids in ([1, 2], [3, 4, 5])]
rows = pa.Table.from_batches(batches)
table = lancedb.connect("db://any", api_key=key, host_override=url).open_table("orders")
step("append", lambda: expect(table.add(rows, write_parallelism=2).version, 2))
step("overwrite", lambda: expect(table.add(rows, mode="overwrite", write_parallelism=2).version, 3))
step(
    "a failed part",
    lambda: expect_error("part refused", lambda: table.add(rows, write_parallelism=2)),
)
finish()
