"""Ray, DuckDB and Polars on a table of a catalog, through pylance: engines_scenario.py URL KEY"""

import sys

import duckdb
import lance
import lance_namespace
import lance_ray
import polars
import pyarrow as pa
import ray
from lance_namespace import CreateNamespaceRequest

from steps import expect, finish, step

url, key = sys.argv[1:]
settings = {"uri": url, "header.x-api-key": key}
catalog = lance_namespace.connect("rest", settings)
table_id = ["engines", "numbers"]
in_catalog = {"table_id": table_id, "namespace_impl": "rest", "namespace_properties": settings}


def numbers(start, end):
    names = [f"n{i}" for i in range(start, end)]
    return pa.table({"id": pa.array(range(start, end), pa.int64()), "name": names})


def dataset():
    return lance.dataset(namespace_client=catalog, table_id=table_id)


def write_with_ray(rows, **options):
    lance_ray.write_lance(ray.data.from_arrow(rows), **in_catalog, **options)


def read_with_ray(**options):
    return lance_ray.read_lance(**in_catalog, **options)


def double(batch):
    return pa.RecordBatch.from_pydict({"twice": [2 * number for number in batch["id"].to_pylist()]})


def query_with_duckdb(sql):
    # DuckDB finds the table by the name of the variable.
    numbers = dataset()  # noqa: F841
    return duckdb.sql(sql).fetchall()


def append_with_polars():
    frame = polars.from_arrow(dataset().to_table(filter="id < 2"))
    rows = frame.with_columns(id=frame["id"] + 200).to_arrow().cast(dataset().schema)
    lance.write_dataset(rows, namespace_client=catalog, table_id=table_id, mode="append")


ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
step("create a namespace", lambda: catalog.create_namespace(CreateNamespaceRequest(id=table_id[:1])))
step("Ray: create", lambda: write_with_ray(numbers(0, 100)))
step("Ray: append", lambda: write_with_ray(numbers(100, 200), mode="append"))
step("Ray: read", lambda: expect(read_with_ray().count(), 200))
step("Ray: filter", lambda: expect(read_with_ray(columns=["id"], filter="id >= 150").count(), 50))
step("Ray: add a column", lambda: lance_ray.add_columns(transform=double, **in_catalog))
step(
    "Ray: read the column",
    lambda: expect(dataset().to_table(filter="id = 7").to_pylist(), [{"id": 7, "name": "n7", "twice": 14}]),
)
step(
    "DuckDB: aggregate",
    lambda: expect(query_with_duckdb("select count(*), max(id) from numbers"), [(200, 199)]),
)
step(
    "DuckDB: filter",
    lambda: expect(query_with_duckdb("select name from numbers where id = 42"), [("n42",)]),
)
step(
    "DuckDB: join",
    lambda: expect(query_with_duckdb("select count(*) from numbers a join numbers b using (id)"), [(200,)]),
)
step(
    "Polars: scan",
    lambda: expect(polars.scan_pyarrow_dataset(dataset()).filter(polars.col("id") < 10).collect().height, 10),
)
step("Polars: append", append_with_polars)
step("read all", lambda: expect(dataset().count_rows(), 202))
ray.shutdown()
finish()
