<?php

declare(strict_types=1);

namespace App\Payments;

use Illuminate\Support\Facades\Log;
use Quayside\Panel\Gateway;
use Quayside\QuaysideException;

require_once __DIR__ . '/Quayside/Gateway.php';

/** The payment method for V2Board and its forks, whose payment methods are the files of this folder. */
class Quayside
{
    public function __construct(private readonly array $config)
    {
    }

    public function form(): array
    {
        return array_map(fn (array $field): array => [
            'label' => $field[0],
            'description' => $field[1],
            'type' => 'input',
        ], Gateway::FIELDS);
    }

    public function pay($order): array
    {
        try {
            return (new Gateway($this->config))->pay($order);
        } catch (QuaysideException $error) {
            Log::error("Quayside: {$error->getMessage()} (request {$error->requestId})");
            abort(500, "Quayside: {$error->apiCode}");
        }
    }

    public function notify($params): array|bool
    {
        $total = \Quayside\Panel\totalOfOrder(...);
        $headers = \Quayside\Panel\headersOfRequest();
        return (new Gateway($this->config))->notify(request()->getContent(), $headers, $total) ?? false;
    }
}
