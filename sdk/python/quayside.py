"""Client of a Quayside installation, for Python 3.9 or newer, on the standard library alone.

It signs every request, tries again where that is safe, reads lists page by page, and verifies webhooks. The reference of
your installation, at /docs, explains each field.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import platform
import random
import secrets as randomness
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from http.client import HTTPException
from typing import Any, Callable, NamedTuple, Optional, TypedDict, Union
from urllib.parse import quote, urlencode

VERSION = "0.1.0"
USER_AGENT = f"quayside-python/{VERSION} (python {platform.python_version()})"
RETRIED = (429, 500, 502, 503, 504)
# The longest time that a server may ask to wait, and the bounds of a wait that it does not name, in seconds.
WAIT_MAX = 60
BACKOFF_FIRST = 0.5
BACKOFF_MAX = 8


# Objects of the API


class ProductData(TypedDict, total=False):
    name: str
    description: str


class PriceData(TypedDict):
    currency: str
    unit_amount: int
    product_data: ProductData


class LineItem(TypedDict, total=False):
    price_data: PriceData
    quantity: int


class CreateSession(TypedDict, total=False):
    """Amounts are integers in minor units: 1050 is 10.50. amount, currency and order_id are required."""

    amount: int
    currency: str
    order_id: str
    description: str
    success_url: str
    cancel_url: str
    metadata: dict[str, str]
    webhook_url: str
    expires_in: int
    line_items: list[LineItem]
    tax_amount: int
    shipping_amount: int


class PaymentOption(TypedDict):
    network: str
    currency: str
    address: str
    amount: str
    confirmations_required: int
    qr_code_data: str
    deep_link: str


class Payment(TypedDict):
    network: str
    currency: str
    amount: str
    transaction_hash: str
    confirmations: int
    status: str


class Refundable(TypedDict):
    currency: str
    amount: str


class PaymentSession(TypedDict, total=False):
    """The fields up to expires_at are always there."""

    id: str
    amount_total: int
    currency: str
    payment_status: str
    created: int
    expires_at: int
    url: str
    payer_url: str
    line_items: list[LineItem]
    tax_amount: int
    shipping_amount: int
    exchange_rate: str
    target_currency: str
    target_amount_total: int
    rate_locked_at: int
    metadata: dict[str, str]
    payment_options: list[PaymentOption]
    payments: list[Payment]
    payments_total: int
    underpaid: bool
    overpaid: bool
    paid_late: bool
    paid_at: int
    refundable: list[Refundable]


class CreateRefund(TypedDict, total=False):
    """order_id is the id of the session, refund_id one of your own, and amount a decimal: "4.50"."""

    order_id: str
    refund_id: str
    amount: str
    currency: str
    reason: str
    description: str
    metadata: dict[str, str]


class RefundDestination(TypedDict):
    network: str
    address: str


class Refund(TypedDict, total=False):
    refund_id: str
    session_id: str
    order_id: str
    amount: str
    currency: str
    status: str
    reason: str
    description: str
    created_at: int
    metadata: dict[str, str]
    next_action: dict[str, str]
    destination: RefundDestination
    destination_source: str
    waits_for: str
    failure_reason: Optional[str]
    transaction_hash: str
    receipt_number: str
    processed_at: int


class CanceledRefund(TypedDict, total=False):
    refund_id: str
    status: str
    canceled_at: int
    destination: RefundDestination
    destination_source: str


class PaymentEvent(TypedDict):
    """An event, as a webhook brings it and as the list of events has it."""

    id: str
    type: str
    created_at: int
    livemode: bool
    data: dict[str, dict[str, Any]]


# Errors


class QuaysideError(Exception):
    """Every error of this client. code is for programs; status is 0 without an answer."""

    def __init__(
        self,
        message: str,
        code: str,
        status: int = 0,
        type: str = "client_error",
        param: Optional[str] = None,
        request_id: Optional[str] = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.status = status
        self.type = type
        self.param = param
        self.request_id = request_id


class AuthenticationError(QuaysideError):
    """The key, the clock or the signature is wrong (401)."""


class PermissionError(QuaysideError):
    """The key may not do this, or its store is suspended (403)."""


class NotFoundError(QuaysideError):
    """There is no such thing for this key (404)."""


class InvalidRequestError(QuaysideError):
    """The request cannot be carried out as it is (other 4xx)."""


class RateLimitError(QuaysideError):
    """Too many requests, also after the retries (429)."""


class ApiError(QuaysideError):
    """The server failed, or what answered is no Quayside (5xx, redirects, no JSON)."""


class ConnectionError(QuaysideError):
    """No answer came in time. A call that was not tried again may have been carried out."""


class SignatureError(QuaysideError):
    """A webhook is not from your installation, is too old, or is of the other mode."""


_CLASSES = {401: AuthenticationError, 403: PermissionError, 404: NotFoundError, 429: RateLimitError}


def _error_of(status: int, answer: Any) -> QuaysideError:
    error = answer.get("error") if isinstance(answer, dict) else None
    if not isinstance(error, dict) or not all(name in error for name in ("type", "code", "message")):
        text = f"status {status} without an answer of Quayside: check the base URL, and the proxy in front of it"
        return ApiError(text, "invalid_answer", status)
    kind = _CLASSES.get(status, ApiError if status >= 500 else InvalidRequestError)
    return kind(
        error["message"], error["code"], status, error["type"], error.get("param"), answer.get("request_id")
    )


# The client


class Answer(NamedTuple):
    status: int
    retry_after: Optional[str]
    body: bytes


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """A redirect is an answer: a signed request goes to no other host."""

    def redirect_request(self, *_: Any) -> None:
        return None


_opener = urllib.request.build_opener(_NoRedirects)


def send(method: str, url: str, headers: Mapping[str, str], body: Optional[bytes], timeout: float) -> Answer:
    """Sends one request. Raises OSError or HTTPException without an answer."""
    request = urllib.request.Request(url, data=body, headers=dict(headers), method=method)
    try:
        with _opener.open(request, timeout=timeout) as response:
            return Answer(response.status, response.headers.get("Retry-After"), response.read())
    except urllib.error.HTTPError as error:
        with error:
            return Answer(error.code, error.headers.get("Retry-After"), error.read())


class Client:
    """Calls of one API key. It holds no connection. Every call raises QuaysideError."""

    def __init__(
        self,
        api_key: str,
        api_secret: str,
        base_url: str,
        timeout: float = 30,
        max_retries: int = 2,
        now: Callable[[], float] = time.time,
        sleep: Callable[[float], None] = time.sleep,
        transport: Callable[..., Answer] = send,
    ) -> None:
        if not api_key or not api_secret or not base_url:
            raise ValueError("api_key, api_secret and base_url are required")
        self._key = api_key
        self._secret = api_secret
        self._base_url = base_url.rstrip("/")
        self._timeout = timeout
        self._max_retries = max_retries
        self._now = now
        self._sleep = sleep
        self._transport = transport
        self.sessions = Sessions(self)
        self.refunds = Refunds(self)
        self.events = Events(self)
        self.webhooks = Webhooks(api_key.startswith("sk_live_"), now)

    def __repr__(self) -> str:
        return f"Client({self._base_url!r})"

    def request(
        self,
        method: str,
        path: str,
        body: Optional[Mapping[str, Any]] = None,
        idempotency_key: Optional[str] = None,
    ) -> Any:
        """Makes a signed call: every other call of this client, and those that it has no function for."""
        text = "" if body is None else _encode(body)
        is_named = body is not None and ("order_id" in body or "refund_id" in body)
        is_repeatable = method == "GET" or idempotency_key is not None or is_named
        tried = 0
        while True:
            error, wait, answer = self._attempt(method, path, text, idempotency_key)
            if error is None:
                return answer
            if not is_repeatable or tried >= self._max_retries or (wait or 0) > WAIT_MAX:
                raise error
            backoff = random.random() * min(BACKOFF_MAX, BACKOFF_FIRST * 2**tried)
            self._sleep(backoff if wait is None else wait)
            tried += 1

    def _attempt(self, method: str, path: str, text: str, idempotency_key: Optional[str]) -> tuple:
        """Returns an error that may pass, how long to wait then, and the answer. Raises an error that stays."""
        headers = self._headers(method, path, text)
        if idempotency_key is not None:
            headers["Idempotency-Key"] = idempotency_key
        body = text.encode() if text else None
        try:
            got = self._transport(method, self._base_url + path, headers, body, self._timeout)
        except (OSError, HTTPException) as why:
            return ConnectionError(f"no answer from {self._base_url}: {why}", "no_answer"), None, None
        answer = _parse(got.body)
        is_success = 200 <= got.status < 300
        if is_success and answer is not None:
            return None, None, answer
        error = _error_of(got.status, answer)
        if got.status not in RETRIED and not is_success:
            raise error
        wait = got.retry_after
        return error, int(wait) if wait and wait.isdigit() else None, None

    def _headers(self, method: str, path: str, text: str) -> dict[str, str]:
        timestamp = str(int(self._now()))
        nonce = randomness.token_hex(16)
        return {
            "Authorization": f"Bearer {self._key}",
            "Content-Type": "application/json",
            "User-Agent": USER_AGENT,
            "X-Service-Timestamp": timestamp,
            "X-Service-Nonce": nonce,
            "X-Service-Signature": _hmac(self._secret, f"{timestamp}.{nonce}.{text}".encode()),
            "X-Service-Request-Signature": _hmac(
                self._secret, "\n".join((timestamp, nonce, method, path, text)).encode()
            ),
        }

    def _rows(self, path: str, id_name: str, query: Mapping[str, Any]) -> Iterator[Any]:
        direction = "starting_after" if query.get("ending_before") is None else "ending_before"
        given = {name: value for name, value in query.items() if value is not None}
        while True:
            page = self.request("GET", path + (f"?{urlencode(given, doseq=True)}" if given else ""))
            rows = page["data"] if direction == "starting_after" else page["data"][::-1]
            yield from rows
            if not page["has_more"] or not rows:
                return
            given = {**given, direction: rows[-1][id_name]}


class Sessions:
    PATH = "/api/v1/checkout/sessions"

    def __init__(self, client: Client) -> None:
        self._client = client

    def create(self, session: CreateSession) -> PaymentSession:
        """Creates a session; the same order_id with the same body returns the same session."""
        return self._client.request("POST", f"{self.PATH}/create", session)

    def get(self, session_id: str) -> PaymentSession:
        return self._client.request("GET", f"{self.PATH}/{quote(session_id, safe='')}")

    def cancel(self, session_id: str) -> PaymentSession:
        path = f"{self.PATH}/{quote(session_id, safe='')}/cancel"
        return self._client.request("POST", path, idempotency_key=randomness.token_hex(16))

    def list(self, **query: Any) -> Iterator[PaymentSession]:
        """Yields sessions, newest first; with ending_before, those after it, the oldest first."""
        return self._client._rows(self.PATH, "id", query)


class Refunds:
    PATH = "/api/v1/refunds"

    def __init__(self, client: Client) -> None:
        self._client = client

    def create(self, refund: CreateRefund) -> Refund:
        """Creates a refund; the same refund_id with the same body pays once."""
        return self._client.request("POST", f"{self.PATH}/create", refund)

    def get(self, refund_id: str) -> Refund:
        return self._client.request("GET", f"{self.PATH}/{quote(refund_id, safe='')}")

    def cancel(self, refund_id: str) -> CanceledRefund:
        path = f"{self.PATH}/{quote(refund_id, safe='')}/cancel"
        return self._client.request("POST", path, idempotency_key=randomness.token_hex(16))

    def list(self, **query: Any) -> Iterator[Refund]:
        return self._client._rows(self.PATH, "refund_id", query)


class Events:
    PATH = "/api/v1/events"

    def __init__(self, client: Client) -> None:
        self._client = client

    def get(self, event_id: str) -> PaymentEvent:
        return self._client.request("GET", f"{self.PATH}/{quote(event_id, safe='')}")

    def list(self, **query: Any) -> Iterator[PaymentEvent]:
        return self._client._rows(self.PATH, "id", query)


class Webhooks:
    def __init__(self, is_live: bool, now: Callable[[], float]) -> None:
        self._is_live = is_live
        self._now = now

    def verify(
        self,
        body: Union[bytes, str],
        headers: Mapping[str, str],
        secrets: Union[str, Sequence[str]],
        tolerance: float = 300,
    ) -> PaymentEvent:
        """Returns the event of a webhook that this installation has sent for the mode of the API key.

        body: the raw bytes, before any JSON parser. secrets: the endpoint's; while it is being rotated, both.
        Raises SignatureError.
        """
        raw = body.encode() if isinstance(body, str) else body
        values = {name.lower(): value for name, value in headers.items()}
        timestamp = values.get("x-service-timestamp", "")
        given = values.get("x-service-signature", "").lower()
        signed = f"{timestamp}.{values.get('x-service-nonce', '')}.".encode() + raw
        all_secrets = [secrets] if isinstance(secrets, str) else secrets
        matches = [hmac.compare_digest(_hmac(one, signed).encode(), given.encode()) for one in all_secrets]
        if not any(matches):
            raise SignatureError("the webhook is not signed with this secret", "wrong_signature")
        if not timestamp.isdigit() or abs(self._now() - int(timestamp)) > tolerance:
            raise SignatureError("the webhook is too old, or a clock is wrong", "too_old")
        event = _parse(raw)
        if not isinstance(event, dict) or event.get("livemode") is not self._is_live:
            raise SignatureError("the webhook is of the other mode than the API key", "other_mode")
        return event  # type: ignore[return-value]


def _hmac(secret: str, text: bytes) -> str:
    return hmac.new(secret.encode(), text, hashlib.sha256).hexdigest()


def _parse(body: bytes) -> Any:
    try:
        return json.loads(body)
    except ValueError:
        return None


def _encode(body: Mapping[str, Any]) -> str:
    """Returns the JSON of a body. Raises TypeError for a float, so that no amount is rounded."""
    _refuse_floats(body, "")
    return json.dumps(body, ensure_ascii=False, separators=(",", ":"))


def _refuse_floats(value: Any, name: str) -> None:
    if isinstance(value, float):
        raise TypeError(f"{name} must be an integer; amounts are integers in minor units, or decimal strings")
    if isinstance(value, Mapping):
        for key, inner in value.items():
            _refuse_floats(inner, key)
    elif isinstance(value, (list, tuple)):
        for inner in value:
            _refuse_floats(inner, name)
