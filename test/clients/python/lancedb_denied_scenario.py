"""What LanceDB reports if the gateway denies a write: lancedb_denied_scenario.py OWNER_KEY URL KEY"""

import sys
import time

import lancedb

from steps import expect, expect_error, finish, step

owner_key, url, key = sys.argv[1:]
rows = [{"id": 1, "vector": [0.1, 0.2]}]


def open_table(key):
    return lancedb.connect("db://any", api_key=key, host_override=url).open_table("written")


def expect_error_soon(part, action):
    start = time.monotonic()
    expect_error(part, action)
    expect(time.monotonic() - start < 10, True)


owner = lancedb.connect("db://any", api_key=owner_key, host_override=url)
step("create", lambda: owner.create_table("written", rows))
denied = step("open", lambda: open_table(key))
step("insert", lambda: expect_error_soon("not allowed InsertIntoTable", lambda: denied.add(rows)))
step("nothing was written", lambda: expect(open_table(owner_key).count_rows(), 1))
finish()
