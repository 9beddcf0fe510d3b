"""Prints "ok NAME" or "failed NAME: ERROR" for each step of a scenario."""

import os
from contextlib import contextmanager

import pyarrow as pa


@contextmanager
def reported(name):
    """Runs a block as a step; a failed one does not end the scenario."""
    try:
        yield
        print("ok", name, flush=True)
    except Exception as error:
        text = f"{type(error).__name__}: {error}".replace("\n", " ")
        print("failed", f"{name}: {text[:500]}", flush=True)


def step(name, action):
    with reported(name):
        return action()


def expect(found, expected):
    if found != expected:
        raise AssertionError(f"expected {expected!r}, found {found!r}")


def expect_error(part, action):
    """Fails unless the action raises an error with that part in its text or in that of a cause."""
    try:
        action()
    except Exception as error:
        if not any(part in str(cause) for cause in causes(error)):
            raise
    else:
        raise AssertionError("expected an error")


def expect_kind(kind, action):
    """Fails unless the action raises an error of that kind."""
    try:
        action()
    except kind:
        return
    raise AssertionError(f"expected {kind.__name__}")


def causes(error):
    while error is not None:
        yield error
        error = error.__cause__


def stream(table):
    """Returns a table as the bytes of an Arrow stream."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue().to_pybytes()


def finish():
    # Native threads of LanceDB 0.27 can crash the interpreter while it ends.
    os._exit(0)
