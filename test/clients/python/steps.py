"""Prints "ok NAME" or "failed NAME: ERROR" for each step of a scenario."""

import os


def step(name, action):
    try:
        result = action()
        print("ok", name, flush=True)
        return result
    except Exception as error:
        text = f"{type(error).__name__}: {error}".replace("\n", " ")
        print("failed", f"{name}: {text[:500]}", flush=True)


def expect(found, expected):
    if found != expected:
        raise AssertionError(f"expected {expected!r}, found {found!r}")


def finish():
    # Native threads of LanceDB 0.27 can crash the interpreter while it ends.
    os._exit(0)
