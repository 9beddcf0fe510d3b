"""Serves a folder with the REST adapter of pylance until standard input ends: rest_adapter.py FOLDER"""

import sys

import lance.namespace

folder = sys.argv[1]
# Without tracking, clients commit past the catalog.
settings = {"root": folder, "table_version_tracking_enabled": "true"}

with lance.namespace.RestAdapter("dir", settings, None, "127.0.0.1", 0) as adapter:
    print(f"listening on http://127.0.0.1:{adapter.port}", flush=True)
    sys.stdin.read()
