"""Makes the calls that it reads, a line of JSON each, with the Python client, and answers each with a line."""

import json
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../../sdk/python"))
sys.dont_write_bytecode = True

import quayside  # noqa: E402

now = os.environ.get("NOW")
client = quayside.Client(
    os.environ["API_KEY"],
    os.environ["API_SECRET"],
    os.environ["BASE_URL"],
    timeout=5,
    now=time.time if now is None else lambda: float(now),
)

CALLS = {
    "createSession": client.sessions.create,
    "session": client.sessions.get,
    "cancelSession": client.sessions.cancel,
    "sessions": lambda query: list(client.sessions.list(**query)),
    "createRefund": client.refunds.create,
    "refund": client.refunds.get,
    "cancelRefund": client.refunds.cancel,
    "refunds": lambda query: list(client.refunds.list(**query)),
    "event": client.events.get,
    "events": lambda query: list(client.events.list(**query)),
    "request": client.request,
    "verify": client.webhooks.verify,
    "show": lambda: f"{client} {client!r}",
}

for line in sys.stdin:
    asked = json.loads(line)
    try:
        answer = {"result": CALLS[asked["call"]](*asked["args"])}
    except quayside.QuaysideError as error:
        kind = type(error).__name__.removesuffix("Error")
        fields = {"status": error.status, "type": error.type, "code": error.code, "param": error.param}
        answer = {"error": {**fields, "requestId": error.request_id, "kind": kind, "message": str(error)}}
    except TypeError as error:
        answer = {"error": {"kind": "Refused", "message": str(error)}}
    print(json.dumps(answer), flush=True)
