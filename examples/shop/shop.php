<?php
/**
 * A shop: orders withdrawals and deposits, waits for their end, and receives callbacks.
 *
 *     php shop.php withdraw ORDERID CURRENCY AMOUNT ADDRESS
 *     php shop.php deposit ORDERID CURRENCY AMOUNT
 *     php shop.php wait withdrawal|deposit TRANSACTIONID
 *     php -S 127.0.0.1:8081 shop.php        receives callbacks; so does this file behind a web server
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

/**
 * Stores the event durably, one file a record. False for a repeated event and for one that a newer one overtook.
 * A shop with a database does this and the work that follows from the event in one transaction.
 */
function keep(array $event): bool
{
    $folder = setting('RECORDS', 'records');
    $name = $event['data']['transactionId'];
    if (!preg_match('/^[A-Za-z0-9_-]{1,64}$/D', $name)) {
        throw new UnexpectedValueException('transactionId');
    }
    is_dir($folder) || mkdir($folder, 0700, true);
    $lock = fopen("$folder/.lock", 'c'); // let go when this request ends
    flock($lock, LOCK_EX);
    $path = "$folder/$name.json";
    if (is_file($path) && json_decode(file_get_contents($path), true)['sequence'] >= $event['sequence']) {
        return false;
    }
    $file = fopen("$path.new", 'w');
    if (fwrite($file, json_encode($event)) === false || !fsync($file) || !rename("$path.new", $path)) {
        throw new RuntimeException("$path was not written");
    }
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
set_error_handler(fn (int $kind, string $problem) => throw new ErrorException($problem));
try {
    http_response_code(receive((string) file_get_contents('php://input', false, null, 0, BYTES_MAX)));
} catch (Throwable $problem) {
    error_log('a callback was not stored: ' . $problem->getMessage());
    http_response_code(500);
}
