"""Reads of a caller to whom policies leave a part of a table: lancedb_restricted_scenario.py URL KEY"""

import sys

import lancedb

from steps import expect, expect_error, finish, step

url, key = sys.argv[1:]
db = lancedb.connect("db://any", api_key=key, host_override=url)
table = step("open", lambda: db.open_table("people"))


def ids(query):
    return [row["id"] for row in query.to_list()]


step("schema", lambda: expect(table.schema.names, ["id", "vector"]))
step("count", lambda: expect(table.count_rows(), 2))
step("count with a filter", lambda: expect(table.count_rows("id > 1"), 1))
step("query", lambda: expect(sorted(ids(table.search())), [1, 2]))
step("filter", lambda: expect(ids(table.search().where("id > 1").select(["id"])), [2]))
step("search", lambda: expect(ids(table.search([1.0, 0.0], vector_column_name="vector").limit(3)), [1, 2]))
step("hidden column", lambda: expect_error("there is no column", lambda: ids(table.search().select(["ssn"]))))
step("hidden filter", lambda: expect_error("no column", lambda: ids(table.search().where("ssn = 'a'"))))
step("unsupported filter", lambda: expect_error("not supported", lambda: ids(table.search().where("abs(id) = 1"))))
step("delete", lambda: expect_error("not allowed DeleteFromTable", lambda: table.delete("true")))
finish()
