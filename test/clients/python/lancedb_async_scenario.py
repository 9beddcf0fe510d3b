"""The asynchronous interface of LanceDB's remote client: lancedb_async_scenario.py URL KEY"""

import asyncio
import sys

import lancedb
import pyarrow as pa
from lancedb.index import FTS, BTree

from steps import expect, finish, reported

url, key = sys.argv[1:]
texts = ["dog one", "cat two", "dog three"]
vectors = pa.array([[i / 10] * 4 for i in range(3)], pa.list_(pa.float32(), 4))
rows = pa.table({"id": pa.array([1, 2, 3], pa.int64()), "text": texts, "v": vectors})
vector = [0.1] * 4


async def main():
    db = await lancedb.connect_async("db://any", api_key=key, host_override=url)
    with reported("create"):
        table = await db.create_table("people_async", rows, mode="overwrite")
    with reported("add"):
        await table.add(rows)
    with reported("count often at once"):
        expect(await asyncio.gather(*(table.count_rows() for _ in range(20))), [6] * 20)
    with reported("search vectors"):
        expect((await table.vector_search(vector).limit(2).to_arrow()).num_rows, 2)
    with reported("read batches"):
        batches = await table.query().select(["id"]).to_batches(max_batch_length=2)
        expect(sum([batch.num_rows async for batch in batches]), 6)
    with reported("explain"):
        expect("KNN" in await table.query().nearest_to(vector).explain_plan(), True)
    with reported("metadata of a field"):
        await table.replace_field_metadata("id", {"unit": "m"})
        expect((await table.schema()).field("id").metadata, {b"unit": b"m"})
    with reported("it gets no storage options"):
        expect([await table.initial_storage_options(), await table.latest_storage_options()], [None, None])
    with reported("what it cannot do remotely"):
        for call in [db.get_read_consistency_interval, table.migrate_manifest_paths_v2]:
            try:
                await call()
                raise AssertionError("expected an error")
            except (NotImplementedError, ValueError):
                pass
    with reported("restore"):
        await table.checkout(1)
        await table.restore()
        expect(await table.count_rows(), 3)
    with reported("create indices"):
        await table.create_index("id", config=BTree())
        await table.create_index("text", config=FTS())
    with reported("statistics"):
        name = (await table.list_indices())[0].name
        expect((await table.index_stats(name)).num_indexed_rows, 3)
        expect((await table.stats())["num_rows"], 3)
    with reported("search text and vectors"):
        query = table.query().nearest_to(vector).nearest_to_text("dog", ["text"]).limit(3)
        expect((await query.to_arrow()).num_rows > 0, True)
    with reported("drop"):
        await db.drop_table("people_async")
        expect((await db.list_tables()).tables, [])
    with reported("close"):
        db.close()
        expect(db.is_open(), False)
    finish()


asyncio.run(main())
