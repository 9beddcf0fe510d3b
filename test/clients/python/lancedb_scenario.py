"""What a user does with the remote client of LanceDB: lancedb_scenario.py URL KEY"""

import sys

import lancedb
import pyarrow as pa

from steps import expect, finish, step

url, key = sys.argv[1:]
version = tuple(int(part) for part in lancedb.__version__.split(".")[:2])
db = lancedb.connect("db://any", api_key=key, host_override=url)
texts = ["dog one", "cat two", "dog three"]
vectors = pa.array([[i / 10] * 4 for i in range(3)], pa.list_(pa.float32(), 4))
rows = pa.table({"id": pa.array([1, 2, 3], pa.int64()), "text": texts, "v": vectors})

table = step("create", lambda: db.create_table("people", rows, mode="overwrite"))
step("list", lambda: expect("people" in list(db.table_names()), True))
step("open", lambda: db.open_table("people"))
step("add", lambda: table.add(rows))
step("count", lambda: expect(table.count_rows(), 6))
step("count with a filter", lambda: expect(table.count_rows("id > 1"), 4))
step("search", lambda: expect(table.search([0.1] * 4).limit(2).to_arrow().num_rows, 2))
step(
    "search with a filter",
    lambda: expect(table.search([0.1] * 4).where("id = 3").limit(9).to_arrow().num_rows, 2),
)
step(
    "select expressions",
    lambda: expect(
        table.search([0.1] * 4).select({"double": "id * 2"}).limit(1).to_arrow().column_names,
        ["double", "_distance"],
    ),
)
step("update", lambda: table.update(where="id = 1", values={"text": "hund"}))
step("count updated", lambda: expect(table.count_rows("text = 'hund'"), 2))
step("delete", lambda: table.delete("id = 2"))
step("count the rest", lambda: expect(table.count_rows(), 4))
step(
    "merge",
    lambda: table.merge_insert("id")
    .when_matched_update_all()
    .when_not_matched_insert_all()
    .execute(rows.slice(1)),
)
if version >= (0, 18):
    step("add a column", lambda: table.add_columns({"twice": "id * 2"}))
    step("rename a column", lambda: table.alter_columns({"path": "twice", "rename": "double"}))
    step("drop a column", lambda: table.drop_columns(["double"]))
    step("versions", lambda: expect(len(table.list_versions()) > 5, True))
    step("check out", lambda: table.checkout(1))
    step("count the old rows", lambda: expect(table.count_rows(), 3))
    step("check out the newest", lambda: table.checkout_latest())
step("schema", lambda: expect(table.schema.names, ["id", "text", "v"]))
step("create a scalar index", lambda: table.create_scalar_index("id"))
step("create a text index", lambda: table.create_fts_index("text"))
step(
    "search text",
    lambda: expect(table.search("dog", query_type="fts").limit(9).to_arrow().num_rows > 0, True),
)
step("create the indices again", lambda: [table.create_scalar_index("id"), table.create_fts_index("text")])
step(
    "search text with a filter afterwards",
    lambda: expect(
        table.search("dog", query_type="fts").where("id = 3", prefilter=False).to_arrow().num_rows > 0, True
    ),
)
if version >= (0, 27):
    from lancedb.query import MultiMatchQuery

    step(
        "search text in several columns",
        lambda: table.search(MultiMatchQuery("dog", ["text"]), query_type="fts").limit(9).to_arrow(),
    )
# In 0.16, two threads run one event loop for it, which can wait forever.
if version != (0, 16):
    step(
        "search text and vectors",
        lambda: table.search(query_type="hybrid").vector([0.1] * 4).text("dog").limit(3).to_arrow(),
    )
# The oldest versions return the whole response.
indices = (lambda: table.list_indices()) if version >= (0, 16) else (lambda: table.list_indices()["indexes"])
step("list indices", lambda: expect(len(indices()), 2))
if version >= (0, 40):
    step("add a column by its type", lambda: table.add_columns(pa.schema([pa.field("score", pa.float32())])))
    step("create a namespace", lambda: db.create_namespace(["teams"]))
    step("create in it", lambda: db.create_table("people", rows, namespace_path=["teams"], mode="overwrite"))
    step("list the root", lambda: expect([name for name in db.table_names() if "$" in name], []))
    step("drop in it", lambda: db.drop_table("people", namespace_path=["teams"]))
    step("drop the namespace", lambda: db.drop_namespace(["teams"]))
step("drop", lambda: db.drop_table("people"))
step("list nothing", lambda: expect("people" in list(db.table_names()), False))
finish()
