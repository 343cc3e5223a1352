import hashlib
import hmac
import json
import os
import time
import urllib.error
import urllib.request
import uuid

BASE_URL = "BASE_URL"
API_KEY = os.environ["API_KEY"]
API_SECRET = os.environ["API_SECRET"]


def sign(text):
    return hmac.new(API_SECRET.encode(), text.encode(), hashlib.sha256).hexdigest()


def call(method, path, body=None):
    """Makes a signed call and returns the answer. The path includes its query."""
    text = "" if body is None else json.dumps(body)
    timestamp = str(int(time.time()))
    nonce = str(uuid.uuid4())
    headers = {
        "Authorization": f"Bearer {API_KEY}",
        "Content-Type": "application/json",
        "X-Service-Timestamp": timestamp,
        "X-Service-Nonce": nonce,
        "X-Service-Signature": sign(f"{timestamp}.{nonce}.{text}"),
        "X-Service-Request-Signature": sign("\n".join([timestamp, nonce, method, path, text])),
    }
    request = urllib.request.Request(BASE_URL + path, text.encode() or None, headers, method=method)
    try:
        with urllib.request.urlopen(request) as response:
            return json.load(response)
    except urllib.error.HTTPError as refused:
        error = json.load(refused)["error"]
        raise RuntimeError(f"{error['code']}: {error['message']}") from None
