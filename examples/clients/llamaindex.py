import os

import lancedb
import pyarrow as pa
from llama_index.core.schema import TextNode
from llama_index.core.vector_stores import VectorStoreQuery
from llama_index.vector_stores.lancedb import LanceDBVectorStore

db = lancedb.connect(
    "db://any",
    api_key=os.environ["KEY"],
    host_override=os.environ.get("CATALOG_URL", "http://127.0.0.1:2333"),
)
# Further metadata of nodes are further members of `metadata`.
metadata = ["_node_content", "_node_type", "document_id", "doc_id", "ref_doc_id"]
schema = pa.schema(
    [
        ("id", pa.string()),
        ("doc_id", pa.string()),
        ("vector", pa.list_(pa.float32(), 2)),
        ("text", pa.string()),
        ("metadata", pa.struct([(name, pa.string()) for name in metadata])),
    ]
)
table = db.create_table("llamaindex", schema=schema, mode="overwrite")
store = LanceDBVectorStore(table=table, mode="append")
store.add([TextNode(text="hello", embedding=[0.1, 0.2]), TextNode(text="world", embedding=[0.3, -0.4])])
found = store.query(VectorStoreQuery(query_embedding=[0.3, -0.4], similarity_top_k=1))
print(table.count_rows(), found.nodes[0].text)
