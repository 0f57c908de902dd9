"""A shop: orders withdrawals and deposits, waits for their end, shows the payment page to its
customers, and receives callbacks.

    python3 shop.py withdraw ORDERID CURRENCY AMOUNT ADDRESS
    python3 shop.py deposit ORDERID CURRENCY AMOUNT
    python3 shop.py wait withdrawal|deposit TRANSACTIONID
    python3 shop.py listen

README.md has the settings and the exit codes. Python 3.8 or later, standard library only.
Amounts are text from end to end: a float would round money.
"""
import base64, hashlib, hmac, html, http.client, json, os, re, secrets, sys, threading, time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

TIMEOUT = float(os.environ.get("TIMEOUT_SECONDS", "30"))  # a withdrawal may wait 10 s for the agent
PAUSE = float(os.environ.get("PAUSE_SECONDS", "1"))
RECORDS = os.environ.get("RECORDS", "records")
TRIES = 6
RETRY_AFTER_MAX = 60.0
BYTES_MAX = 1 << 20


# ---- Asking the service -------------------------------------------------------------------------


def base64url(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def signature_token(method: str, path: str, body: bytes) -> str:
    """A fresh token that is good for this one request (strict profile)."""
    key_id, secret, _ = os.environ["SHOP_KEY"].split(".")
    now = int(time.time())
    header = {"alg": "HS256", "typ": "JWT", "kid": key_id}
    claims = {"sub": key_id, "iat": now, "exp": now + 60, "jti": secrets.token_hex(16),
              "bodyHash": hashlib.sha256(body).hexdigest(), "method": method, "path": path}
    text = ".".join(base64url(json.dumps(part).encode()) for part in (header, claims))
    return text + "." + base64url(hmac.new(secret.encode(), text.encode(), hashlib.sha256).digest())


def ask(method: str, path: str, order=None):
    """(status, body, seconds to wait) of one request. Status 0: no answer of the service's arrived."""
    url = urlsplit(os.environ["BASE_URL"].rstrip("/"))
    body = b"" if order is None else json.dumps(order).encode()
    headers = {"Content-Type": "application/json", "signatureToken": signature_token(method, path, body)}
    kind = http.client.HTTPSConnection if url.scheme == "https" else http.client.HTTPConnection
    connection = kind(url.netloc, timeout=TIMEOUT)
    until = time.monotonic() + TIMEOUT
    try:
        connection.request(method, url.path + path, body if method == "POST" else None, headers)
        answer = connection.getresponse()  # a redirect is not followed: the token stays here
        text = b""
        while part := answer.read1(65536):
            text += part
            if len(text) > BYTES_MAX or time.monotonic() > until:
                return 0, None, None
        wait = answer.getheader("Retry-After", "")
        said = json.loads(text, parse_float=str)
    except (OSError, http.client.HTTPException, ValueError, RecursionError):
        return 0, None, None  # no connection, no answer in time, a cut answer, a page of HTML
    finally:
        connection.close()
    # A proxy's own error page may be JSON too; the service's answers have these fields.
    wanted = "transactionId" if answer.status == 200 else "code"
    if not isinstance(said, dict) or not isinstance(said.get(wanted), str):
        return 0, None, None
    return answer.status, said, float(wait) if re.fullmatch(r"[0-9]{1,6}", wait) else None


def until_known(method: str, path: str, order=None):
    """Sends the very same request until its answer is known. A repeated order never pays twice."""
    for attempt in range(1, TRIES + 1):
        status, body, wait = ask(method, path, order)
        if status not in (0, 408, 429) and status < 500:
            break
        if attempt < TRIES:
            time.sleep(min(PAUSE * attempt if wait is None else wait, RETRY_AFTER_MAX))
    return status, body


def exit_code(status: int) -> int:
    """3 stands for "not known": a 401, for instance, says nothing of an earlier try."""
    return 0 if status == 200 else 1 if status in (400, 404, 409, 422) else 3


def order_and_print(path: str, order) -> int:
    # A shop stores the order and its orderId in its database before this line, and the answer after it.
    status, body = until_known("POST", path, order)
    print(json.dumps([status, body]), flush=True)
    return exit_code(status)


def wait_for_end(kind: str, transaction_id: str) -> int:
    """Asks until the record is Completed (0) or Failed (1). Pending is never an end."""
    path = f"/api/v1/transaction/{transaction_id}?transactionType={2 if kind == 'withdrawal' else 1}"
    while True:
        status, body = until_known("GET", path)
        if status == 200 and body["status"] == 0:
            time.sleep(PAUSE)
            continue
        print(json.dumps([status, body]), flush=True)
        return exit_code(status) if status != 200 else 0 if body["status"] == 1 else 1


# ---- Callbacks ----------------------------------------------------------------------------------


def is_signed(headers, body: bytes) -> bool:
    """Standard Webhooks: the signature is over the bytes that arrived, and five minutes old at most."""
    key = base64.b64decode(os.environ["CALLBACK_SECRET"][len("whsec_"):])
    message_id, timestamp = headers.get("webhook-id", ""), headers.get("webhook-timestamp", "")
    if not re.fullmatch(r"[0-9]{1,12}", timestamp) or abs(time.time() - int(timestamp)) > 300:
        return False
    signed = f"{message_id}.{timestamp}.".encode() + body
    wanted = "v1," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
    given = headers.get("webhook-signature", "").split(" ")  # two of them while the secret changes
    return any([hmac.compare_digest(wanted.encode(), one.encode()) for one in given])


lock = threading.Lock()


def path_of(name: str) -> str:
    return os.path.join(RECORDS, name + ".json")


def store(name: str, content) -> None:
    """Writes a file of RECORDS durably and completely, or not at all."""
    path = path_of(name)
    with open(path + ".new", "w", encoding="utf-8") as file:
        json.dump(content, file)
        file.flush()
        os.fsync(file.fileno())
    os.replace(path + ".new", path)
    folder = os.open(RECORDS, os.O_RDONLY)
    os.fsync(folder)
    os.close(folder)


def stored(name: str):
    if not os.path.exists(path_of(name)):
        return None
    with open(path_of(name), encoding="utf-8") as file:
        return json.load(file)


def keep(event) -> bool:
    """Stores the event durably, one file a record. False for a repeated event and for one that a newer one overtook.

    A shop with a database does this and the work that follows from the event in one transaction.
    """
    name = event["data"]["transactionId"]
    if not re.fullmatch(r"[A-Za-z0-9_-]{1,64}", name):
        raise ValueError("transactionId")
    with lock:
        kept = stored(name)
        if kept is not None and kept["sequence"] >= event["sequence"]:
            return False
        store(name, event)
        return True


def receive(headers, body: bytes) -> int:
    """The status to answer: 204 only once the event is stored, since every other one brings it again."""
    if not is_signed(headers, body):
        return 400
    event = json.loads(body, parse_float=str)
    if event["type"] == "webhook.test":  # it has no record
        print("webhook.test", flush=True)
    elif keep(event):
        print(f"{event['type']} of {event['data']['orderId']}", flush=True)
    return 204


# ---- The customer's pages -----------------------------------------------------------------------

CURRENCY, PRICE = os.environ.get("CURRENCY", "usdt-erc20"), os.environ.get("PRICE", "25")  # what this shop sells
SHOP_URL = os.environ.get("SHOP_URL", "http://127.0.0.1:" + os.environ.get("PORT", "")).rstrip("/")


def page(title: str, more: str = "") -> str:
    return ('<!doctype html><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
            f"<title>Shop</title><h1>{title}</h1>{more}")


def buy():
    """Stores the order, and only the customer's next page sends it: so it is never lost."""
    order_id = "in-" + secrets.token_hex(16)  # also the customer's right to see it
    with lock:
        store(order_id, {"orderId": order_id, "currency": CURRENCY, "amount": PRICE})
    return 303, "", f"/order/{order_id}"


def order_page(order_id: str):
    """(status, HTML). Until the payment page is known each view sends the very same order."""
    order = stored(order_id) if re.fullmatch(r"in-[0-9a-f]{32}", order_id) else None
    if order is None:
        return 404, page("There is no such order / Böyle bir sipariş yok")
    if "paymentUrl" not in order:
        sent = dict(order, returnUrl=f"{SHOP_URL}/order/{order_id}")
        status, body, _ = ask("POST", "/api/v1/createTransactionRequest", sent)
        if status in (0, 408, 429) or status >= 500:
            return 200, page("One moment, please / Bir dakika lütfen", '<meta http-equiv="refresh" content="5">')
        if status != 200:
            print(f"{order_id} was refused: {body['code']} {body['message']}", file=sys.stderr, flush=True)
            return 503, page("Not for sale right now / Şu anda satışta değil")
        order.update(transactionId=body["transactionId"], paymentUrl=body["paymentUrl"])
        with lock:
            store(order_id, order)
    event = stored(order["transactionId"])  # the newest callback, else the service's own answer
    record = event["data"] if event else ask("GET", f"/api/v1/transaction/{order['transactionId']}?transactionType=1")[1]
    status = (record or {}).get("status", 0)
    url = html.escape(order["paymentUrl"])
    link = f'<p><a href="{url}">Payment page / Ödeme sayfası</a></p>'
    if status == 1:
        return 200, page("Paid, thank you / Ödendi, teşekkürler")
    if status == 2:
        return 200, page("This order has ended / Bu sipariş sona erdi", link)
    frame = f'<iframe src="{url}" title="Payment" width="100%" height="900" allow="clipboard-write"></iframe>'
    return 200, page("Please pay / Lütfen ödeyin", link + frame)


class Handler(BaseHTTPRequestHandler):
    timeout = 15

    def answer(self, status: int, text: str = "", location: str = "") -> None:
        body = text.encode()
        self.send_response(status)
        if location:
            self.send_header("Location", location)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def safely(self, act) -> None:
        try:
            self.answer(*act())
        except (KeyError, TypeError, ValueError, OSError) as error:
            print(f"{self.path}: nothing was stored: {error!r}", file=sys.stderr, flush=True)
            self.answer(500)

    def hook(self):
        length = self.headers.get("content-length", "")
        if not re.fullmatch(r"[0-9]{1,7}", length) or int(length) > BYTES_MAX:
            return (413,)
        return (receive(self.headers, self.rfile.read(int(length))),)

    def do_POST(self):
        if self.path == "/buy":
            self.safely(buy)
        else:
            self.safely(self.hook)

    def do_GET(self):
        if self.path == "/":
            button = '<form method="post" action="/buy"><button>Buy / Satın al</button></form>'
            return self.answer(200, page(html.escape(f"One cup: {PRICE} {CURRENCY}"), button))
        self.safely(lambda: order_page(self.path.split("?")[0].replace("/order/", "", 1)))

    def log_message(self, *_):
        pass


def listen() -> int:
    os.makedirs(RECORDS, exist_ok=True)
    ThreadingHTTPServer(("127.0.0.1", int(os.environ["PORT"])), Handler).serve_forever()
    return 0


# ---- The command line ---------------------------------------------------------------------------


def main(words) -> int:
    name, count = (words + [""])[0], len(words)
    if name == "listen" and count == 1:
        return listen()
    base = urlsplit(os.environ.get("BASE_URL", ""))
    if base.scheme != "https" and base.hostname not in ("localhost", "127.0.0.1", "::1"):
        print("shop: BASE_URL must begin with https:// off this machine", file=sys.stderr)
        return 2
    if name in ("withdraw", "deposit") and count >= 4 and not re.fullmatch(r"[0-9]+(\.[0-9]+)?", words[3]):
        print("shop: AMOUNT must be plain digits such as 0.5", file=sys.stderr)
        return 2
    if name == "withdraw" and count == 5:
        order = dict(zip(("orderId", "currency", "amount", "address"), words[1:]))
        return order_and_print("/api/v1/autoWithdraw", order)
    if name == "deposit" and count == 4:
        order = dict(zip(("orderId", "currency", "amount"), words[1:]))
        return order_and_print("/api/v1/createTransactionRequest", order)
    if name == "wait" and count == 3 and words[1] in ("withdrawal", "deposit") and re.fullmatch(r"\w+", words[2]):
        return wait_for_end(words[1], words[2])
    print(__doc__, file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
