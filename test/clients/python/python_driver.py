"""Runs the Python client for its tests: a JSON object per line in, its result as one line out."""

import dataclasses
import datetime
import decimal
import json
import math  # noqa: F401  for what a test has evaluated
import pathlib
import pickle
import random
import sys
import uuid

sys.path.insert(0, str(pathlib.Path(__file__).parents[3] / "clients/python"))

import document_rendering as client  # noqa: E402

random.random = lambda: 0.0
"""Without the random part of a wait, Retry-After: 0 is no wait."""


def plain(value):
    if isinstance(value, (client.ServiceUnreachableError, client.UnexpectedResponseError)):
        # As a pool of processes passes it on.
        value = pickle.loads(pickle.dumps(value))
        details = {name: member for name, member in vars(value).items() if not name.startswith("_")}
        return {**details, "error": type(value).__name__, "message": str(value)}
    if isinstance(value, client.RenderedFile):
        return {**vars(value), "content": value.content.decode("latin-1")}
    if dataclasses.is_dataclass(value):
        return {name: plain(member) for name, member in vars(value).items()}
    return value


def call(method, options, request):
    events = []
    # Text of JSON keeps the digits that it has.
    text = options.pop("json", None)
    try:
        used = client.ServiceClient(**options)
        if method == "render":
            result = used.render(request if text is None else json.loads(text), on_retry=lambda event: events.append(plain(event)))
        else:
            result = used.constraints()
    except (client.ServiceUnreachableError, client.UnexpectedResponseError, ValueError) as error:
        result = error if not isinstance(error, ValueError) else {"error": type(error).__name__, "message": str(error)}
    return {"result": plain(result), "events": events}


for line in sys.stdin:
    command = json.loads(line)
    if command["do"] == "encode":
        # A test's own expression: what JSON does not have.
        try:
            answer = client._encode({"source": "x", "data": eval(command["data"])}).decode()
        except (TypeError, ValueError) as error:
            answer = f"{type(error).__name__}: {error}"
    else:
        answer = call(command["do"], command["options"], command.get("request"))
    print(json.dumps(answer), flush=True)
