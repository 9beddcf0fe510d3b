import os
from pathlib import Path

import lancedb
from lancedb.remote import ClientConfig, HeaderProvider


class TokenFile(HeaderProvider):
    def get_headers(self):
        token = Path(os.environ["TOKEN_FILE"]).read_text().strip()
        return {"authorization": f"Bearer {token}"}


db = lancedb.connect(
    "db://any",
    api_key="",
    host_override=os.environ.get("CATALOG_URL", "http://127.0.0.1:2333"),
    client_config=ClientConfig(header_provider=TokenFile()),
)
db.create_table("with_provider", [{"id": 1, "vector": [0.1, 0.2]}], mode="overwrite")
print(db.open_table("with_provider").count_rows())
