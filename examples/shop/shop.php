<?php
/**
 * A shop: orders withdrawals and deposits, waits for their end, shows the payment page to its customers, and
 * receives callbacks.
 *
 *     php shop.php withdraw ORDERID CURRENCY AMOUNT ADDRESS
 *     php shop.php deposit ORDERID CURRENCY AMOUNT
 *     php shop.php wait withdrawal|deposit TRANSACTIONID
 *     php -S 127.0.0.1:8081 shop.php        pages and callbacks; so does this file behind a web server
 *
 * README.md has the settings and the exit codes. PHP 8.1 or later, no extension and no package.
 * Amounts are text from end to end: a float would round money.
 */
declare(strict_types=1);

const TRIES = 6;
const RETRY_AFTER_MAX = 60.0;
const BYTES_MAX = 1 << 20;

function setting(string $name, string $otherwise = ''): string
{
    $value = getenv($name);
    return $value === false || $value === '' ? $otherwise : $value;
}

// ---- Asking the service ------------------------------------------------------------------------

function base64url(string $bytes): string
{
    return rtrim(strtr(base64_encode($bytes), '+/', '-_'), '=');
}

/** A fresh token that is good for this one request (strict profile). */
function signature_token(string $method, string $path, string $body): string
{
    [$keyId, $secret] = explode('.', setting('SHOP_KEY'));
    $header = base64url(json_encode(['alg' => 'HS256', 'typ' => 'JWT', 'kid' => $keyId]));
    $claims = base64url(json_encode([
        'sub' => $keyId, 'iat' => time(), 'exp' => time() + 60, 'jti' => bin2hex(random_bytes(16)),
        'bodyHash' => hash('sha256', $body), 'method' => $method, 'path' => $path,
    ]));
    return "$header.$claims." . base64url(hash_hmac('sha256', "$header.$claims", $secret, true));
}

/** [status, body, seconds to wait] of one request. Status 0: no answer of the service's arrived. */
function ask(string $method, string $path, ?array $order): array
{
    $nothing = [0, null, null];
    $body = $order === null ? '' : json_encode($order);
    $timeout = (float) setting('TIMEOUT_SECONDS', '30'); // a withdrawal may wait 10 s for the agent
    $context = stream_context_create(['http' => [
        // A redirect is not followed: the token stays here.
        'method' => $method, 'content' => $body, 'timeout' => $timeout, 'ignore_errors' => true, 'follow_location' => 0,
        'header' => ['Content-Type: application/json', 'signatureToken: ' . signature_token($method, $path, $body)],
    ]]);
    $until = microtime(true) + $timeout;
    $stream = @fopen(rtrim(setting('BASE_URL'), '/') . $path, 'rb', false, $context);
    if ($stream === false) {
        return $nothing; // no connection, or no answer in time
    }
    $text = '';
    while (!feof($stream)) {
        $text .= (string) fread($stream, 65536);
        if (strlen($text) > BYTES_MAX || microtime(true) > $until || stream_get_meta_data($stream)['timed_out']) {
            return $nothing;
        }
    }
    $head = implode("\n", stream_get_meta_data($stream)['wrapper_data']);
    fclose($stream);
    $status = (int) (explode(' ', $head)[1] ?? 0);
    $said = json_decode($text, true, 64); // null for a cut answer and for a page of HTML
    // A proxy's own error page may be JSON too; the service's answers have these fields.
    if (!is_array($said) || !is_string($said[$status === 200 ? 'transactionId' : 'code'] ?? null)) {
        return $nothing;
    }
    return [$status, $said, preg_match('/^Retry-After: *([0-9]{1,6})\r?$/mi', $head, $found) ? (float) $found[1] : null];
}

/** Sends the very same request until its answer is known. A repeated order never pays twice. */
function until_known(string $method, string $path, ?array $order = null): array
{
    for ($attempt = 1; ; $attempt++) {
        [$status, $body, $wait] = ask($method, $path, $order);
        if ((!in_array($status, [0, 408, 429], true) && $status < 500) || $attempt === TRIES) {
            return [$status, $body];
        }
        $seconds = min($wait ?? (float) setting('PAUSE_SECONDS', '1') * $attempt, RETRY_AFTER_MAX);
        usleep((int) ($seconds * 1e6));
    }
}

/** 3 stands for "not known": a 401, for instance, says nothing of an earlier try. */
function exit_code(int $status): int
{
    return $status === 200 ? 0 : (in_array($status, [400, 404, 409, 422], true) ? 1 : 3);
}

function order_and_print(string $path, array $order): int
{
    // A shop stores the order and its orderId in its database before this line, and the answer after it.
    [$status, $body] = until_known('POST', $path, $order);
    echo json_encode([$status, $body]), "\n";
    return exit_code($status);
}

/** Asks until the record is Completed (0) or Failed (1). Pending is never an end. */
function wait_for_end(string $kind, string $transactionId): int
{
    $path = "/api/v1/transaction/$transactionId?transactionType=" . ($kind === 'withdrawal' ? 2 : 1);
    while (true) {
        [$status, $body] = until_known('GET', $path);
        if ($status !== 200 || $body['status'] !== 0) {
            echo json_encode([$status, $body]), "\n";
            return $status !== 200 ? exit_code($status) : ($body['status'] === 1 ? 0 : 1);
        }
        usleep((int) ((float) setting('PAUSE_SECONDS', '1') * 1e6));
    }
}

// ---- Callbacks ---------------------------------------------------------------------------------

/** Standard Webhooks: the signature is over the bytes that arrived, and five minutes old at most. */
function is_signed(string $body): bool
{
    $key = base64_decode(substr(setting('CALLBACK_SECRET'), strlen('whsec_')));
    $id = $_SERVER['HTTP_WEBHOOK_ID'] ?? '';
    $timestamp = $_SERVER['HTTP_WEBHOOK_TIMESTAMP'] ?? '';
    if ($key === '' || !preg_match('/^[0-9]{1,12}$/D', $timestamp) || abs(time() - (int) $timestamp) > 300) {
        return false;
    }
    $wanted = 'v1,' . base64_encode(hash_hmac('sha256', "$id.$timestamp.$body", $key, true));
    $fits = false;
    foreach (explode(' ', $_SERVER['HTTP_WEBHOOK_SIGNATURE'] ?? '') as $signature) {
        $fits = hash_equals($wanted, $signature) || $fits; // two of them while the secret changes
    }
    return $fits;
}

function path_of(string $name): string
{
    $folder = setting('RECORDS', 'records');
    is_dir($folder) || mkdir($folder, 0700, true);
    return "$folder/$name.json";
}

/** A lock on RECORDS that ends with its variable. */
function one_at_a_time()
{
    $lock = fopen(path_of('.lock'), 'c');
    flock($lock, LOCK_EX);
    return $lock;
}

/** Writes a file of RECORDS durably and completely, or not at all. */
function store(string $name, array $content): void
{
    $path = path_of($name);
    $file = fopen("$path.new", 'w');
    if (fwrite($file, json_encode($content)) === false || !fsync($file) || !rename("$path.new", $path)) {
        throw new RuntimeException("$path was not written");
    }
}

function stored(string $name): ?array
{
    $path = path_of($name);
    return is_file($path) ? json_decode(file_get_contents($path), true, 64, JSON_THROW_ON_ERROR) : null;
}

/**
 * Stores the event durably, one file a record. False for a repeated event and for one that a newer one overtook.
 * A shop with a database does this and the work that follows from the event in one transaction.
 */
function keep(array $event): bool
{
    $name = $event['data']['transactionId'];
    if (!preg_match('/^[A-Za-z0-9_-]{1,64}$/D', $name)) {
        throw new UnexpectedValueException('transactionId');
    }
    $lock = one_at_a_time();
    if ((stored($name)['sequence'] ?? -1) >= $event['sequence']) {
        return false;
    }
    store($name, $event);
    return true;
}

/** The status to answer: 204 only once the event is stored, since every other one brings it again. */
function receive(string $body): int
{
    if (!is_signed($body)) {
        return 400;
    }
    $event = json_decode($body, true, 64, JSON_THROW_ON_ERROR);
    if ($event['type'] === 'webhook.test') { // it has no record
        error_log('webhook.test');
    } elseif (keep($event)) {
        error_log("{$event['type']} of {$event['data']['orderId']}");
    }
    return 204;
}

// ---- The customer's pages ----------------------------------------------------------------------

function page(int $status, string $title, string $more = ''): void
{
    http_response_code($status);
    echo '<!doctype html><meta charset="utf-8"><meta name="viewport" content="width=device-width">',
        "<title>Shop</title><h1>$title</h1>$more";
}

/** Stores the order, and only the customer's next page sends it: so it is never lost. */
function buy(): void
{
    $orderId = 'in-' . bin2hex(random_bytes(16)); // also the customer's right to see it
    store($orderId, ['orderId' => $orderId, 'currency' => setting('CURRENCY', 'usdt-erc20'), 'amount' => setting('PRICE', '25')]);
    header("Location: /order/$orderId", true, 303);
}

/** Until the payment page is known each view sends the very same order. */
function order_page(string $orderId): void
{
    $order = preg_match('/^in-[0-9a-f]{32}$/D', $orderId) ? stored($orderId) : null;
    if ($order === null) {
        page(404, 'There is no such order / Böyle bir sipariş yok');
        return;
    }
    if (!isset($order['paymentUrl'])) {
        $shopUrl = rtrim(setting('SHOP_URL', 'http://' . $_SERVER['HTTP_HOST']), '/');
        [$status, $body] = ask('POST', '/api/v1/createTransactionRequest', $order + ['returnUrl' => "$shopUrl/order/$orderId"]);
        if (in_array($status, [0, 408, 429], true) || $status >= 500) {
            page(200, 'One moment, please / Bir dakika lütfen', '<meta http-equiv="refresh" content="5">');
            return;
        }
        if ($status !== 200) {
            error_log("$orderId was refused: {$body['code']} {$body['message']}");
            page(503, 'Not for sale right now / Şu anda satışta değil');
            return;
        }
        $order = ['transactionId' => $body['transactionId'], 'paymentUrl' => $body['paymentUrl']] + $order;
        $lock = one_at_a_time();
        store($orderId, $order);
    }
    $event = stored($order['transactionId']); // the newest callback, else the service's own answer
    $record = $event['data'] ?? ask('GET', "/api/v1/transaction/{$order['transactionId']}?transactionType=1", null)[1];
    $url = htmlspecialchars($order['paymentUrl']);
    $link = "<p><a href=\"$url\">Payment page / Ödeme sayfası</a></p>";
    match ($record['status'] ?? 0) {
        1 => page(200, 'Paid, thank you / Ödendi, teşekkürler'),
        2 => page(200, 'This order has ended / Bu sipariş sona erdi', $link),
        default => page(200, 'Please pay / Lütfen ödeyin', $link
            . "<iframe src=\"$url\" title=\"Payment\" width=\"100%\" height=\"900\" allow=\"clipboard-write\"></iframe>"),
    };
}

function serve(string $method, string $path): void
{
    if ($method === 'POST' && $path === '/buy') {
        buy();
    } elseif ($method === 'POST') {
        http_response_code(receive((string) file_get_contents('php://input', false, null, 0, BYTES_MAX)));
    } elseif ($path === '/') {
        $title = htmlspecialchars('One cup: ' . setting('PRICE', '25') . ' ' . setting('CURRENCY', 'usdt-erc20'));
        page(200, $title, '<form method="post" action="/buy"><button>Buy / Satın al</button></form>');
    } else {
        order_page(str_replace('/order/', '', $path));
    }
}

// ---- The command line --------------------------------------------------------------------------

function main(array $words): int
{
    [$name, $count] = [$words[0] ?? '', count($words)];
    $base = parse_url(setting('BASE_URL'));
    if (($base['scheme'] ?? '') !== 'https' && !in_array($base['host'] ?? '', ['localhost', '127.0.0.1', '[::1]'], true)) {
        fwrite(STDERR, "shop: BASE_URL must begin with https:// off this machine\n");
        return 2;
    }
    if (in_array($name, ['withdraw', 'deposit'], true) && $count >= 4 && !preg_match('/^[0-9]+(\.[0-9]+)?$/D', $words[3])) {
        fwrite(STDERR, "shop: AMOUNT must be plain digits such as 0.5\n");
        return 2;
    }
    if ($name === 'withdraw' && $count === 5) {
        $order = array_combine(['orderId', 'currency', 'amount', 'address'], array_slice($words, 1));
        return order_and_print('/api/v1/autoWithdraw', $order);
    }
    if ($name === 'deposit' && $count === 4) {
        $order = array_combine(['orderId', 'currency', 'amount'], array_slice($words, 1));
        return order_and_print('/api/v1/createTransactionRequest', $order);
    }
    if ($name === 'wait' && preg_match('/^(withdrawal|deposit) \w+$/D', implode(' ', array_slice($words, 1)))) {
        return wait_for_end($words[1], $words[2]);
    }
    fwrite(STDERR, "usage: the first lines of shop.php\n");
    return 2;
}

if (PHP_SAPI === 'cli') {
    exit(main(array_slice($argv, 1)));
}
// A printed warning would be an answer with status 200, and the service would not send the event again.
ini_set('display_errors', '0');
// A call with "@" in front has its own answer to a problem.
set_error_handler(fn (int $kind, string $problem) => (error_reporting() & $kind) === 0 || throw new ErrorException($problem));
try {
    serve($_SERVER['REQUEST_METHOD'], (string) parse_url($_SERVER['REQUEST_URI'], PHP_URL_PATH));
} catch (Throwable $problem) {
    error_log('nothing was stored: ' . $problem->getMessage());
    http_response_code(500);
}
