"""Prints the public methods and properties of LanceDB's remote client as a JSON list of names."""

import json

from lancedb.db import AsyncConnection
from lancedb.remote.db import RemoteDBConnection
from lancedb.remote.table import RemoteTable
from lancedb.table import AsyncBranches, AsyncTable, AsyncTags

classes = [RemoteDBConnection, RemoteTable, AsyncConnection, AsyncTable, AsyncTags, AsyncBranches]
print(json.dumps(sorted({name for each in classes for name in dir(each) if not name.startswith("_")})))
