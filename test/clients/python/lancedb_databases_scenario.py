"""Two databases of one catalog: lancedb_databases_scenario.py ANALYST_KEY URL KEY. The analyst may read in sales only."""

import sys

import lancedb

from steps import expect, expect_error, finish, step

analyst_key, url, key = sys.argv[1:]


def connect(key):
    return lancedb.connect_catalog(url, api_key=key)


def row(id):
    return [{"id": id, "text": "row", "vector": [0.1, 0.2]}]


def ids(table):
    return [found["id"] for found in table.search([0.1, 0.2]).limit(10).to_list()]


def tables(db, **namespace):
    return list(db.list_tables(**namespace).tables)


catalog = connect(key)
sales = step("create sales", lambda: catalog.create_database("sales"))
lab = step("create lab", lambda: catalog.create_database("lab"))
step("create an existing one", lambda: expect_error("already exists", lambda: catalog.create_database("lab")))
step("open an existing one", lambda: catalog.create_database("lab", exist_ok=True))
step("list", lambda: expect(catalog.list_databases().databases, ["lab", "sales"]))
step("open a missing one", lambda: expect_error("was not found", lambda: catalog.connect_database("none")))
step("the root is none", lambda: expect_error("database of the root", lambda: catalog.create_database("any")))

orders = step("create a table", lambda: sales.create_table("orders", row(1)))
step("the other does not see it", lambda: expect(tables(lab), []))
step("the other does not open it", lambda: expect_error("was not found", lambda: lab.open_table("orders")))
others = step("create one of that name", lambda: lab.create_table("orders", row(7)))
step("replace it", lambda: lab.create_table("orders", row(8), mode="overwrite"))
step("rows of the first", lambda: expect(ids(sales.open_table("orders")), [1]))
step("rows of the other", lambda: expect(ids(lab.open_table("orders")), [8]))
step("add", lambda: orders.add(row(2)))
step("update", lambda: orders.update(where="id = 2", values={"text": "new"}))
step("delete", lambda: orders.delete("id = 1"))
step("count", lambda: expect([orders.count_rows(), others.count_rows()], [1, 1]))
step("names", lambda: expect(list(sales.table_names()), ["orders"]))
step("tag", lambda: orders.tags.create("first", 1))
step("no tag of the other", lambda: expect(list(others.tags.list()), []))
step("branch", lambda: orders.branches.create("trial"))
step("no branch of the other", lambda: expect(list(others.branches.list()), []))

step("create a namespace", lambda: sales.create_namespace(["eu"]))
step("list namespaces", lambda: expect(list(sales.list_namespaces().namespaces), ["eu"]))
step("no namespace of the other", lambda: expect(list(lab.list_namespaces().namespaces), []))
step("create a table in it", lambda: sales.create_table("items", row(3), namespace_path=["eu"]))
step("list it", lambda: expect(tables(sales, namespace_path=["eu"]), ["items"]))
step("rename into it", lambda: sales.rename_table("orders", "moved", new_namespace_path=["eu"]))
step("it has moved", lambda: expect(tables(sales, namespace_path=["eu"]), ["items", "moved"]))
step("not the other", lambda: expect([tables(sales), tables(lab)], [[], ["orders"]]))

root = lancedb.connect("db://any", api_key=key, host_override=url)
step("the root has no tables", lambda: expect(tables(root), []))
step("ids from the root", lambda: expect(tables(root, namespace_path=["lab"]), ["orders"]))
plain = lancedb.connect("db://lab", api_key=key, host_override=url)
step("connect to a database by its URL", lambda: expect(ids(plain.open_table("orders")), [8]))
prefixed = lancedb.connect("db://lab/eu", api_key=key, host_override=url)
step("a prefix is refused", lambda: expect_error("has a prefix", lambda: tables(prefixed)))
view = {"select": {"id": "id"}}
step(
    "a view is refused",
    lambda: expect_error("not accepted in a database", lambda: lab.create_materialized_view("few", "orders", **view)),
)

analyst = connect(analyst_key)
step("visible ones", lambda: expect(analyst.list_databases().databases, ["sales"]))
mine = step("connect to it", lambda: analyst.connect_database("sales"))
step("read", lambda: expect(mine.open_table("moved", namespace_path=["eu"]).count_rows(), 1))
step("no write", lambda: expect_error("not allowed CreateTable", lambda: mine.create_table("new", row(1))))
step("not the other", lambda: expect_error("not allowed DescribeNamespace", lambda: analyst.connect_database("lab")))
other = lancedb.connect("db://lab", api_key=analyst_key, host_override=url)
step("nor its tables", lambda: expect_error("not allowed DescribeTable", lambda: other.open_table("orders")))

step("drop one with content", lambda: expect_error("409 Conflict", lambda: catalog.drop_database("lab")))
step("its table is left", lambda: expect(tables(lab), ["orders"]))
step("drop the table", lambda: lab.drop_table("orders"))
step("drop the empty one", lambda: catalog.drop_database("lab"))
step("it is gone", lambda: expect(catalog.list_databases().databases, ["sales"]))
step("drop a missing one", lambda: expect_error("was not found", lambda: catalog.drop_database("lab")))
step("ignore a missing one", lambda: catalog.drop_database("lab", ignore_missing=True))
finish()
