import hashlib
import hmac
import json
import time


def verify_webhook(headers, body, secrets, mode="live", now=None):
    """Returns the event, or None if it must not be trusted.

    headers: names in lower case; body: the raw bytes, before any JSON parser;
    secrets: the endpoint's secret; while it is being rotated, a list of both.
    """
    timestamp = headers.get("x-service-timestamp", "")
    given = headers.get("x-service-signature", "").lower().encode()
    signed = f"{timestamp}.{headers.get('x-service-nonce', '')}.".encode() + body
    secrets = [secrets] if isinstance(secrets, str) else secrets
    macs = [hmac.new(secret.encode(), signed, hashlib.sha256).hexdigest() for secret in secrets]
    if not any(hmac.compare_digest(mac.encode(), given) for mac in macs):
        return None
    if abs((time.time() if now is None else now) - int(timestamp)) > 300:
        return None
    event = json.loads(body)
    return event if event.get("livemode") is (mode == "live") else None
