import os

import lancedb
from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.vectorstores import VectorStore


class CatalogTable(VectorStore):
    """A table with the columns text and vector."""

    def __init__(self, table, embedding):
        self.table, self.embedding = table, embedding

    def add_texts(self, texts, metadatas=None, **options):
        texts = list(texts)
        vectors = self.embedding.embed_documents(texts)
        self.table.add([{"text": text, "vector": vector} for text, vector in zip(texts, vectors)])
        return texts

    def similarity_search(self, query, k=4, **options):
        rows = self.table.search(self.embedding.embed_query(query)).limit(k).to_list()
        return [Document(row["text"]) for row in rows]

    @classmethod
    def from_texts(cls, texts, embedding, metadatas=None, *, table, **options):
        store = cls(table, embedding)
        store.add_texts(texts)
        return store


db = lancedb.connect(
    "db://any",
    api_key=os.environ["KEY"],
    host_override=os.environ.get("CATALOG_URL", "http://127.0.0.1:2333"),
)
embedding = DeterministicFakeEmbedding(size=8)
first = [{"text": "hello", "vector": embedding.embed_query("hello")}]
table = db.create_table("langchain", first, mode="overwrite")
store = CatalogTable.from_texts(["world"], embedding, table=table)
print(store.as_retriever(search_kwargs={"k": 1}).invoke("world")[0].page_content)
