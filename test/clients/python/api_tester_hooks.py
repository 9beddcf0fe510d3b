"""Requests of schemathesis that a catalog accepts, besides generated ones: valid ids, and rows.

ROWS names a file with an Arrow stream. Everything else comes from the OpenAPI document.
"""

import os
import pathlib
import random

import schemathesis

ROWS = pathlib.Path(os.environ["ROWS"]).read_bytes()
NAMES = ["a", "b", "a$t", "b$u"]
ARROW = "application/vnd.apache.arrow.stream"


@schemathesis.serializer(ARROW)
def rows(_context, value):
    return random.choice([ROWS, ROWS, value if isinstance(value, bytes) else b"no rows"])


@schemathesis.hook
def map_path_parameters(_context, parameters):
    if parameters and "id" in parameters and random.random() < 0.8:
        parameters["id"] = random.choice(NAMES)
    return parameters


@schemathesis.hook
def map_query(_context, query):
    if query and random.random() < 0.8:
        query.pop("delimiter", None)
    return query
