"""A shop that was written against the client that openapi-python-client made. It prints what it read, one value a line."""

import hashlib
import hmac
import os
import time
import uuid

import httpx

from quayside import AuthenticatedClient
from quayside.api.payment_sessions import create_session, get_session
from quayside.models import (
    ApiError,
    CreateSession,
    LineItemInput,
    LineItemInputPriceData,
    LineItemInputPriceDataProductData,
    PaymentSession,
    PaymentSessionPaymentStatus,
)


def sign(request: httpx.Request) -> None:
    """Add the headers that a signed request has besides the API key."""
    timestamp = str(int(time.time()))
    nonce = str(uuid.uuid4())
    text = f"{timestamp}.{nonce}.".encode() + request.read()
    signature = hmac.new(os.environ["API_SECRET"].encode(), text, hashlib.sha256).hexdigest()
    request.headers["X-Service-Timestamp"] = timestamp
    request.headers["X-Service-Nonce"] = nonce
    request.headers["X-Service-Signature"] = signature


client = AuthenticatedClient(
    base_url=os.environ["BASE_URL"],
    token=os.environ["API_KEY"],
    httpx_args={"event_hooks": {"request": [sign]}},
)

price = LineItemInputPriceData(
    currency="EUR",
    unit_amount=525,
    product_data=LineItemInputPriceDataProductData(name="Coffee, 1 kg"),
)
order = CreateSession(
    amount=1050, currency="EUR", order_id="python-1", line_items=[LineItemInput(price_data=price, quantity=2)]
)
created = create_session.sync(client=client, body=order)
assert isinstance(created, PaymentSession), created
session = get_session.sync(created.id, client=client)
assert isinstance(session, PaymentSession), session
assert session.line_items and session.payment_options
print(session.id)
print(session.amount_total, session.currency, session.payment_status == PaymentSessionPaymentStatus.PENDING)
print(session.line_items[0].price_data.product_data.name, session.payment_options[0].currency)

order.amount = 1051
refused = create_session.sync(client=client, body=order)
assert isinstance(refused, ApiError), refused
print(refused.error.code, refused.error.param)
