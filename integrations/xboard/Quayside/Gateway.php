<?php

/** The part that Xboard and V2Board share: an order becomes a session, and a webhook becomes a paid order. */

declare(strict_types=1);

namespace Quayside\Panel;

use Quayside\Client;
use Quayside\QuaysideException;

require_once __DIR__ . '/quayside.php';

/**
 * Ends a request that reports something else than a payment, such as an order that expired: the panel knows only
 * "paid" and errors. It is no \Exception, because the panel catches those; Laravel calls `render` and `report`.
 */
final class Acknowledged extends \Error
{
    public function render(): mixed
    {
        return response('ignored');
    }

    public function report(): void
    {
    }
}

final class Gateway
{
    /** The settings of the payment method, by the name of their field: a label, and a line below the input. */
    private const FIELDS = [
        'base_url' => ['API address', 'Of your Quayside, such as https://pay.example.com'],
        'api_key' => ['API key', 'It needs the scopes sessions:read and sessions:write'],
        'api_secret' => ['API secret', 'Shown once, beside the API key'],
        'webhook_secret' => ['Webhook secret', 'Of the store: quayside webhook secret <store> --mode live'],
        'currency' => ['Currency', 'In which this panel has its prices; CNY if empty'],
    ];

    private readonly Client $client;

    /** @param string $type of an input, as the panel calls it */
    public static function form(string $type): array
    {
        return array_map(fn (array $field): array => [
            'label' => $field[0],
            'description' => $field[1],
            'type' => $type,
        ], self::FIELDS);
    }

    /** @param array<string, mixed> $config what the operator has filled in */
    public function __construct(#[\SensitiveParameter] private readonly array $config)
    {
        $keys = [$this->text('api_key'), $this->text('api_secret')];
        $this->client = new Client(...$keys, baseUrl: $this->text('base_url'), timeout: 10);
    }

    /**
     * Creates the session of an order, or finds the one that an earlier click has created.
     * @param array{trade_no: string, total_amount: int, notify_url: string, return_url: string} $order
     * @return array{type: int, data: string} where the panel sends the buyer
     * @throws QuaysideException
     */
    public function pay(array $order): array
    {
        $session = $this->client->createSession([
            'amount' => (int) $order['total_amount'],
            'currency' => $this->currency(),
            'order_id' => $order['trade_no'],
            'success_url' => $order['return_url'],
            'cancel_url' => $order['return_url'],
            'webhook_url' => $order['notify_url'],
        ]);
        return ['type' => 1, 'data' => $session['payer_url']];
    }

    /**
     * Returns the order that the request, a webhook, reports as paid. It must be signed, and the API must say the same.
     * @return array{trade_no: string, callback_no: string}|false false if the panel must not credit it
     * @throws QuaysideException without an answer of the API: the webhook comes again
     * @throws Acknowledged if it reports something else
     */
    public function notified(): array|false
    {
        $headers = array_map(fn (array $values): string => (string) $values[0], request()->headers->all());
        try {
            $event = $this->client->verifyWebhook(request()->getContent(), $headers, $this->text('webhook_secret'));
        } catch (\Quayside\SignatureException) {
            return false;
        }
        if ($event['type'] !== 'payment.completed') {
            throw new Acknowledged();
        }
        ['order_id' => $orderId, 'session_id' => $sessionId] = $event['data']['object'];
        $session = $this->client->session($sessionId);
        $isPaid = $session['payment_status'] === 'paid'
            && $session['currency'] === $this->currency()
            && $session['amount_total'] === self::totalOf($orderId);
        return $isPaid ? ['trade_no' => $orderId, 'callback_no' => $sessionId] : false;
    }

    /** Returns what an order costs, in minor units, with the fee of the payment method; null without such an order. */
    private static function totalOf(string $tradeNo): ?int
    {
        $order = \App\Models\Order::where('trade_no', $tradeNo)->first();
        return $order === null ? null : (int) $order->total_amount + (int) $order->handling_amount;
    }

    private function currency(): string
    {
        return strtoupper($this->text('currency')) ?: 'CNY';
    }

    private function text(string $name): string
    {
        return trim((string) ($this->config[$name] ?? ''));
    }
}
