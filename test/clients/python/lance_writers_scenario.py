"""Four processes that append to one table at once with pylance: lance_writers_scenario.py URL KEY"""

import multiprocessing
import sys

import lance
import lance_namespace
import pyarrow as pa
from lance_namespace import CreateNamespaceRequest

from steps import expect, finish, step

writers = 4
appends = 6
table_id = ["shared", "numbers"]


def write(catalog, number, mode):
    rows = pa.table({"number": pa.array([number], pa.int64())})
    lance.write_dataset(rows, namespace_client=catalog, table_id=table_id, mode=mode)


def connect():
    url, key = sys.argv[1:]
    return lance_namespace.connect("rest", {"uri": url, "header.x-api-key": key})


def append(writer, barrier):
    catalog = connect()
    barrier.wait()
    for number in range(appends):
        write(catalog, writer * appends + number, "append")


def append_at_once():
    processes = multiprocessing.get_context("spawn")
    barrier = processes.Barrier(writers)
    started = [processes.Process(target=append, args=(writer, barrier)) for writer in range(writers)]
    for process in started:
        process.start()
    for process in started:
        process.join()
    expect([process.exitcode for process in started], [0] * writers)


def main():
    catalog = connect()
    step("create a namespace", lambda: catalog.create_namespace(CreateNamespaceRequest(id=table_id[:1])))
    step("create", lambda: write(catalog, -1, "create"))
    step("append at once", append_at_once)
    table = lance.dataset(namespace_client=catalog, table_id=table_id)
    numbers = sorted(row["number"] for row in table.to_table().to_pylist())
    step("no row is lost", lambda: expect(numbers, [*range(-1, writers * appends)]))
    versions = [version["version"] for version in table.versions()]
    step("each append is a version", lambda: expect(versions, [*range(1, writers * appends + 2)]))
    finish()


if __name__ == "__main__":
    main()
