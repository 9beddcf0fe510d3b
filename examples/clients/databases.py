import os

import lancedb

url = os.environ.get("CATALOG_URL", "http://127.0.0.1:2333")
catalog = lancedb.connect_catalog(url, api_key=os.environ["KEY"])
north = catalog.create_database("north", exist_ok=True)
south = catalog.create_database("south", exist_ok=True)
north.create_table("stock", [{"id": 1, "vector": [0.1, 0.2]}], mode="overwrite")
south.create_table("stock", [{"id": 2, "vector": [0.1, 0.2]}, {"id": 3, "vector": [0.3, 0.4]}], mode="overwrite")
print(north.open_table("stock").count_rows(), south.open_table("stock").count_rows())
