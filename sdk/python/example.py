"""Asks for 10.50 USD and prints where the customer pays."""

import os

import quayside

client = quayside.Client(os.environ["QUAYSIDE_KEY"], os.environ["QUAYSIDE_SECRET"], os.environ["QUAYSIDE_URL"])

session = client.sessions.create({"amount": 1050, "currency": "USD", "order_id": "example-python"})
print(f"{session['id']} is {session['payment_status']}: {session['payer_url']}")
for one in client.sessions.list(order_id="example-python"):
    print(f"{one['id']} has {len(one.get('payments', []))} payments")
