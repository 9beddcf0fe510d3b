"""Reads blobs with the remote client of LanceDB: lancedb_blobs_scenario.py URL KEY"""

import sys

import lancedb

from steps import expect, finish, step

url, key = sys.argv[1:]
table = lancedb.connect("db://any", api_key=key, host_override=url).open_table("pictures")

# The server refuses to return the value as a whole, so the client reads its ranges.
step("a value by ranges", lambda: expect(table.fetch_blobs("image", row_ids=[7]).to_pylist(), [b"0123456789"]))
step("an empty value", lambda: expect(table.fetch_blobs("image", row_ids=[8]).to_pylist(), [b""]))
step("null", lambda: expect(table.fetch_blobs("image", row_ids=[9]).to_pylist(), [None]))
finish()
