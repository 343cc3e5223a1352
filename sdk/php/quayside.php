<?php

/**
 * Client of a Quayside installation, for PHP 8.1 or newer with curl and json. It signs every request, tries again where
 * that is safe, reads lists page by page, and verifies webhooks. The reference of your installation, at /docs, explains
 * each field. Composer loads this file; without Composer, `require` it.
 *
 * Amounts that are integers are in minor units: 1050 is 10.50. Objects are arrays with the fields of the API:
 *
 * @phpstan-type ProductData array{name: string, description?: string}
 * @phpstan-type PriceData array{currency: string, unit_amount: int, product_data: ProductData}
 * @phpstan-type LineItem array{price_data: PriceData, quantity?: int}
 * @phpstan-type CreateSession array{amount: int, currency: string, order_id: string, description?: string,
 *   success_url?: string, cancel_url?: string, metadata?: array<string, string>, webhook_url?: string, expires_in?: int,
 *   line_items?: list<LineItem>, tax_amount?: int, shipping_amount?: int}
 * @phpstan-type PaymentOption array{network: string, currency: string, address: string, amount: string,
 *   confirmations_required: int, qr_code_data: string, deep_link: string}
 * @phpstan-type Payment array{network: string, currency: string, amount: string, transaction_hash: string,
 *   confirmations: int, status: string}
 * @phpstan-type Refundable array{currency: string, amount: string}
 * @phpstan-type PaymentSession array{id: string, amount_total: int, currency: string, payment_status: string, created: int,
 *   expires_at: int, url?: string, payer_url?: string, line_items?: list<LineItem>, tax_amount?: int,
 *   shipping_amount?: int, exchange_rate?: string, target_currency?: string, target_amount_total?: int,
 *   rate_locked_at?: int, metadata?: array<string, string>, payment_options?: list<PaymentOption>,
 *   payments?: list<Payment>, payments_total?: int, underpaid?: bool, overpaid?: bool, paid_late?: bool, paid_at?: int,
 *   refundable?: list<Refundable>}
 * @phpstan-type CreateRefund array{order_id: string, refund_id: string, amount: string, currency: string,
 *   reason?: string, description?: string, metadata?: array<string, string>}
 * @phpstan-type RefundDestination array{network: string, address: string}
 * @phpstan-type Refund array{refund_id: string, session_id: string, order_id: string, amount: string, currency: string,
 *   status: string, reason?: string, description?: string, created_at: int, metadata?: array<string, string>,
 *   next_action?: array<string, string>, destination?: RefundDestination, destination_source?: string,
 *   waits_for?: string, failure_reason?: string|null, transaction_hash?: string, receipt_number?: string,
 *   processed_at?: int}
 * @phpstan-type CanceledRefund array{refund_id: string, status: string, canceled_at: int,
 *   destination?: RefundDestination, destination_source?: string}
 * @phpstan-type PaymentEvent array{id: string, type: string, created_at: int, livemode: bool, data: array<string, mixed>}
 */

declare(strict_types=1);

namespace Quayside;

const VERSION = '0.1.0';

/** Every error of this client. $apiCode is for programs; $status is 0 without an answer. */
class QuaysideException extends \RuntimeException
{
    public function __construct(
        string $message,
        public readonly string $apiCode,
        public readonly int $status = 0,
        public readonly string $type = 'client_error',
        public readonly ?string $param = null,
        public readonly ?string $requestId = null,
    ) {
        parent::__construct($message);
    }
}

/** The key, the clock or the signature is wrong (401). */
class AuthenticationException extends QuaysideException
{
}

/** The key may not do this, or its store is suspended (403). */
class PermissionException extends QuaysideException
{
}

/** There is no such thing for this key (404). */
class NotFoundException extends QuaysideException
{
}

/** The request cannot be carried out as it is (other 4xx). */
class InvalidRequestException extends QuaysideException
{
}

/** Too many requests, also after the retries (429). */
class RateLimitException extends QuaysideException
{
}

/** The server failed, or what answered is no Quayside (5xx, redirects, no JSON). */
class ApiException extends QuaysideException
{
}

/** No answer came in time. A call that was not tried again may have been carried out. */
class ConnectionException extends QuaysideException
{
}

/** A webhook is not from your installation, is too old, or is of the other mode. */
class SignatureException extends QuaysideException
{
}

/** What came back: $status is 0 and $error says why if nothing did. */
final class Answer
{
    public function __construct(
        public readonly int $status,
        public readonly string $body,
        public readonly ?string $retryAfter = null,
        public readonly string $error = '',
    ) {
    }
}

/** Calls of one API key. Every call throws QuaysideException. */
final class Client
{
    /** The longest time that a server may ask to wait, and the bounds of a wait that it does not name, in seconds. */
    private const WAIT_MAX = 60;
    private const BACKOFF_FIRST = 0.5;
    private const BACKOFF_MAX = 8.0;
    private const RETRIED = [429, 500, 502, 503, 504];
    private const SESSIONS = '/api/v1/checkout/sessions';
    private const REFUNDS = '/api/v1/refunds';
    private const EVENTS = '/api/v1/events';

    private readonly string $baseUrl;
    private readonly \Closure $now;
    private readonly \Closure $sleep;
    private readonly \Closure $transport;

    /**
     * @param float $timeout of one try, in seconds
     * @param int $maxRetries tries after the first
     * @param ?callable(): float $now Unix seconds
     * @param ?callable(float): void $sleep
     * @param ?callable(string, string, list<string>, string, float): Answer $transport sends one request
     */
    public function __construct(
        #[\SensitiveParameter] private readonly string $apiKey,
        #[\SensitiveParameter] private readonly string $apiSecret,
        string $baseUrl,
        private readonly float $timeout = 30,
        private readonly int $maxRetries = 2,
        ?callable $now = null,
        ?callable $sleep = null,
        ?callable $transport = null,
    ) {
        if ($apiKey === '' || $apiSecret === '' || $baseUrl === '') {
            throw new \InvalidArgumentException('the API key, its secret and the base URL are required');
        }
        $this->baseUrl = rtrim($baseUrl, '/');
        $this->now = \Closure::fromCallable($now ?? fn (): float => microtime(true));
        $this->sleep = \Closure::fromCallable($sleep ?? fn (float $seconds) => usleep((int) ($seconds * 1e6)));
        $this->transport = \Closure::fromCallable($transport ?? self::send(...));
    }

    /** @return array<string, string> what var_dump shows: no secret */
    public function __debugInfo(): array
    {
        return ['baseUrl' => $this->baseUrl];
    }

    /** A client is made where it is used: written down, it would show its secret. */
    public function __serialize(): array
    {
        throw new \LogicException('a client cannot be serialized, because it has a secret');
    }

    /**
     * Creates a session; the same order_id with the same body returns the same session.
     * @param CreateSession $session
     * @return PaymentSession
     */
    public function createSession(array $session): array
    {
        return $this->request('POST', self::SESSIONS . '/create', $session);
    }

    /** @return PaymentSession */
    public function session(string $id): array
    {
        return $this->request('GET', self::SESSIONS . '/' . rawurlencode($id));
    }

    /** @return PaymentSession */
    public function cancelSession(string $id): array
    {
        return $this->request('POST', self::SESSIONS . '/' . rawurlencode($id) . '/cancel', null, self::random());
    }

    /**
     * Yields sessions, newest first; with ending_before in the filter, those after it, the oldest first.
     * @param array<string, mixed> $filter
     * @return \Generator<int, PaymentSession>
     */
    public function sessions(array $filter = []): \Generator
    {
        return $this->rows(self::SESSIONS, 'id', $filter);
    }

    /**
     * Creates a refund; the same refund_id with the same body pays once.
     * @param CreateRefund $refund with a decimal amount: '4.50'
     * @return Refund
     */
    public function createRefund(array $refund): array
    {
        return $this->request('POST', self::REFUNDS . '/create', $refund);
    }

    /** @return Refund */
    public function refund(string $id): array
    {
        return $this->request('GET', self::REFUNDS . '/' . rawurlencode($id));
    }

    /** @return CanceledRefund */
    public function cancelRefund(string $id): array
    {
        return $this->request('POST', self::REFUNDS . '/' . rawurlencode($id) . '/cancel', null, self::random());
    }

    /**
     * @param array<string, mixed> $filter
     * @return \Generator<int, Refund>
     */
    public function refunds(array $filter = []): \Generator
    {
        return $this->rows(self::REFUNDS, 'refund_id', $filter);
    }

    /** @return PaymentEvent */
    public function event(string $id): array
    {
        return $this->request('GET', self::EVENTS . '/' . rawurlencode($id));
    }

    /**
     * @param array<string, mixed> $filter
     * @return \Generator<int, PaymentEvent>
     */
    public function events(array $filter = []): \Generator
    {
        return $this->rows(self::EVENTS, 'id', $filter);
    }

    /**
     * Returns the event of a webhook that this installation has sent for the mode of the API key.
     * @param string $body file_get_contents('php://input')
     * @param array<string, string> $headers getallheaders()
     * @param string|list<string> $secrets the endpoint's secret; while it is being rotated, both
     * @return PaymentEvent
     * @throws SignatureException
     */
    public function verifyWebhook(
        string $body,
        array $headers,
        #[\SensitiveParameter] string|array $secrets,
        int $tolerance = 300,
    ): array {
        $values = array_change_key_case($headers);
        $timestamp = $values['x-service-timestamp'] ?? '';
        $given = strtolower($values['x-service-signature'] ?? '');
        $signed = $timestamp . '.' . ($values['x-service-nonce'] ?? '') . '.' . $body;
        $isSigned = false;
        foreach ((array) $secrets as $secret) {
            $isSigned = hash_equals(hash_hmac('sha256', $signed, $secret), $given) || $isSigned;
        }
        if (!$isSigned) {
            throw new SignatureException('the webhook is not signed with this secret', 'wrong_signature');
        }
        if (!ctype_digit($timestamp) || abs(($this->now)() - (int) $timestamp) > $tolerance) {
            throw new SignatureException('the webhook is too old, or a clock is wrong', 'too_old');
        }
        $event = json_decode($body, true);
        if (!is_array($event) || ($event['livemode'] ?? null) !== str_starts_with($this->apiKey, 'sk_live_')) {
            throw new SignatureException('the webhook is of the other mode than the API key', 'other_mode');
        }
        return $event;
    }

    /**
     * Makes a signed call: every other call of this client, and those that it has no function for.
     * @param ?array<string, mixed> $body
     * @param ?string $idempotencyKey makes a call safe to repeat that names no order or refund
     * @return array<string, mixed>
     */
    public function request(string $method, string $path, ?array $body = null, ?string $idempotencyKey = null): array
    {
        $text = $body === null ? '' : self::encode($body);
        $isNamed = isset($body['order_id']) || isset($body['refund_id']);
        $isRepeatable = $method === 'GET' || $idempotencyKey !== null || $isNamed;
        for ($tried = 0;; $tried++) {
            $answer = $this->attempt($method, $path, $text, $idempotencyKey);
            $isSuccess = $answer->status >= 200 && $answer->status < 300;
            $decoded = json_decode($answer->body, true);
            if ($isSuccess && is_array($decoded)) {
                return $decoded;
            }
            $error = $this->errorOf($answer, $decoded);
            $mayPass = $isSuccess || $answer->status === 0 || in_array($answer->status, self::RETRIED, true);
            $wait = ctype_digit($answer->retryAfter ?? '') ? (int) $answer->retryAfter : null;
            if (!$mayPass || !$isRepeatable || $tried >= $this->maxRetries || $wait > self::WAIT_MAX) {
                throw $error;
            }
            $backoff = mt_rand() / mt_getrandmax() * min(self::BACKOFF_MAX, self::BACKOFF_FIRST * 2 ** $tried);
            ($this->sleep)((float) ($wait ?? $backoff));
        }
    }

    private function attempt(string $method, string $path, string $text, ?string $idempotencyKey): Answer
    {
        $timestamp = (string) (int) ($this->now)();
        $nonce = self::random();
        $sign = fn (string $signed): string => hash_hmac('sha256', $signed, $this->apiSecret);
        $headers = [
            "Authorization: Bearer $this->apiKey",
            'Content-Type: application/json',
            'User-Agent: quayside-php/' . VERSION . ' (php ' . PHP_VERSION . ')',
            "X-Service-Timestamp: $timestamp",
            "X-Service-Nonce: $nonce",
            'X-Service-Signature: ' . $sign("$timestamp.$nonce.$text"),
            'X-Service-Request-Signature: ' . $sign("$timestamp\n$nonce\n$method\n$path\n$text"),
        ];
        if ($idempotencyKey !== null) {
            $headers[] = "Idempotency-Key: $idempotencyKey";
        }
        return ($this->transport)($method, $this->baseUrl . $path, $headers, $text, $this->timeout);
    }

    /** Sends one request. A redirect is an answer: a signed request goes to no other host. */
    private static function send(string $method, string $url, array $headers, string $text, float $timeout): Answer
    {
        $retryAfter = null;
        $curl = curl_init($url);
        curl_setopt_array($curl, [
            CURLOPT_CUSTOMREQUEST => $method,
            CURLOPT_HTTPHEADER => $headers,
            CURLOPT_RETURNTRANSFER => true,
            CURLOPT_TIMEOUT_MS => (int) ($timeout * 1000),
            CURLOPT_PROTOCOLS => CURLPROTO_HTTP | CURLPROTO_HTTPS,
            CURLOPT_HEADERFUNCTION => function ($_, string $line) use (&$retryAfter): int {
                $retryAfter = preg_match('/^retry-after:\s*(\d+)\s*$/i', $line, $found) ? $found[1] : $retryAfter;
                return strlen($line);
            },
        ] + ($method === 'GET' ? [] : [CURLOPT_POSTFIELDS => $text]));
        $body = curl_exec($curl);
        $status = $body === false ? 0 : curl_getinfo($curl, CURLINFO_RESPONSE_CODE);
        return new Answer($status, (string) $body, $retryAfter, curl_error($curl));
    }

    private function errorOf(Answer $answer, mixed $decoded): QuaysideException
    {
        $status = $answer->status;
        if ($status === 0) {
            return new ConnectionException("no answer from $this->baseUrl: $answer->error", 'no_answer');
        }
        $error = is_array($decoded) ? ($decoded['error'] ?? null) : null;
        if (!isset($error['type'], $error['code'], $error['message'])) {
            $text = "status $status without an answer of Quayside: check the base URL, and the proxy in front of it";
            return new ApiException($text, 'invalid_answer', $status);
        }
        $class = match (true) {
            $status === 401 => AuthenticationException::class,
            $status === 403 => PermissionException::class,
            $status === 404 => NotFoundException::class,
            $status === 429 => RateLimitException::class,
            $status >= 500 => ApiException::class,
            default => InvalidRequestException::class,
        };
        $details = [$status, $error['type'], $error['param'] ?? null, $decoded['request_id'] ?? null];
        return new $class($error['message'], $error['code'], ...$details);
    }

    /** Yields the rows of a list, page by page, in the direction that the filter asks for. */
    private function rows(string $path, string $idName, array $filter): \Generator
    {
        $direction = isset($filter['ending_before']) ? 'ending_before' : 'starting_after';
        do {
            // A list repeats its name: type=a&type=b.
            $query = preg_replace('/%5B\d+%5D=/', '=', http_build_query($filter, '', '&', PHP_QUERY_RFC3986));
            $page = $this->request('GET', $query === '' ? $path : "$path?$query");
            $rows = $direction === 'ending_before' ? array_reverse($page['data']) : $page['data'];
            foreach ($rows as $row) {
                yield $row;
            }
            $filter[$direction] = $rows === [] ? null : end($rows)[$idName];
        } while ($page['has_more'] && $rows !== []);
    }

    /** Returns the JSON of a body. Refuses floats, so that no amount is rounded. */
    private static function encode(array $body): string
    {
        array_walk_recursive($body, function (mixed $value, string|int $name): void {
            if (is_float($value)) {
                $text = 'must be an integer; amounts are integers in minor units, or decimal strings';
                throw new \InvalidArgumentException("$name $text");
            }
        });
        return json_encode($body, JSON_THROW_ON_ERROR | JSON_UNESCAPED_UNICODE | JSON_UNESCAPED_SLASHES);
    }

    private static function random(): string
    {
        return bin2hex(random_bytes(16));
    }
}
