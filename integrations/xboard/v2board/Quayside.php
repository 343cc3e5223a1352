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
        return Gateway::form('input');
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
        return (new Gateway($this->config))->notified();
    }
}
