"""A panel on the PyPI client that CLIENT names. Answers each line of JSON, a call and its arguments, with a line."""

import json
import os
import sys
from urllib.parse import parse_qsl

BASE, KEY, PID, NOTIFY = (os.environ[name] for name in ("BASE_URL", "KEY", "PID", "NOTIFY_URL"))
credited = set()


def credit(order, is_right):
    """Returns the answer to a notice: credits an order once, and acknowledges each right notice."""
    if not is_right:
        return {"ack": "fail", "credited": False}
    is_new = order not in credited
    credited.add(order)
    return {"ack": "success" if CLIENT == "epay" else "ok", "credited": is_new}


class Epay:
    def __init__(self):
        import epay_sdk

        self.sdk = epay_sdk
        config = epay_sdk.EPayConfig(pid=PID, key=KEY, base_url=BASE, environment="sandbox")
        self.client = epay_sdk.EPayClient(config)

    def create(self, order, money):
        request = self.sdk.CreateOrderRequest(order, "Gold", money, NOTIFY, NOTIFY, "usdt.trc20")
        self.client.create_order(request)
        return {"url": self.client.create_order_url(request)}

    def is_paid(self, order, _):
        request = self.sdk.QueryOrderRequest(out_trade_no=order)
        return self.client.parse_query_result(self.client.query_order(request)).paid

    def notice(self, text, order, money):
        read = self.client.verify_callback(dict(parse_qsl(text)))
        is_mine = read.out_trade_no == order and float(read.money) == float(money)
        return credit(order, is_mine and read.trade_status == "TRADE_SUCCESS")


class Gmpay:
    def __init__(self):
        import epusdt

        self.client = epusdt.EpusdtClient(base_url=BASE, pid=PID, secret_key=KEY)

    def create(self, order, money):
        made = self.client.create_order(
            order_id=order, amount=money, currency="usd", notify_url=NOTIFY, token="usdt", network="tron"
        )
        return {"url": made.payment_url, "id": made.trade_id}

    def is_paid(self, _, trade):
        self.client.get_public_config()
        return int(self.client.check_status(trade).status) == 2 == int(self.client.get_checkout(trade).status)

    def notice(self, text, order, money):
        read = self.client.parse_gmpay_callback(json.loads(text))
        return credit(order, read.order_id == order and read.amount == float(money) and int(read.status) == 2)


class Bepusdt:
    def __init__(self):
        import bepusdt

        self.client = bepusdt.BEpusdtClient(BASE, KEY, max_retries=0)

    def create(self, order, money):
        made = self.client.create_order(order, float(money), NOTIFY)
        return {"url": made.payment_url, "id": made.trade_id}

    def is_paid(self, _, trade):
        return int(self.client.query_order(trade).status) == 2

    def notice(self, text, order, money):
        read = json.loads(text)
        is_mine = read["order_id"] == order and read["amount"] == float(money)
        return credit(order, self.client.verify_callback(read) and is_mine and read["status"] == 2)


CLIENT = os.environ["CLIENT"]
panel = {"epay": Epay, "gmpay": Gmpay, "bepusdt": Bepusdt}[CLIENT]()
for line in sys.stdin:
    asked = json.loads(line)
    try:
        answer = {"result": getattr(panel, asked["call"])(*asked["args"])}
    except Exception as error:
        answer = {"error": {"kind": type(error).__name__, "message": str(error)}}
    print(json.dumps(answer), flush=True)
