<?php

declare(strict_types=1);

namespace Plugin\Quayside;

use App\Contracts\PaymentInterface;
use App\Exceptions\ApiException;
use App\Services\Plugin\AbstractPlugin;
use Illuminate\Support\Facades\Log;
use Quayside\Panel\Gateway;
use Quayside\QuaysideException;

require_once __DIR__ . '/Gateway.php';

/** The payment method for Xboard. */
class Plugin extends AbstractPlugin implements PaymentInterface
{
    public function boot(): void
    {
        $this->filter('available_payment_methods', function (array $methods): array {
            $method = ['name' => 'Quayside', 'icon' => '💵', 'plugin_code' => $this->getPluginCode(), 'type' => 'plugin'];
            return $methods + ['Quayside' => $method];
        });
    }

    public function form(): array
    {
        return array_map(fn (array $field): array => [
            'label' => $field[0],
            'description' => $field[1],
            'type' => 'string',
        ], Gateway::FIELDS);
    }

    public function pay($order): array
    {
        try {
            return (new Gateway($this->config))->pay($order);
        } catch (QuaysideException $error) {
            Log::error("Quayside: {$error->getMessage()} (request {$error->requestId})");
            throw new ApiException("Quayside: {$error->apiCode}", 500);
        }
    }

    public function notify($params): array|bool
    {
        $total = \Quayside\Panel\totalOfOrder(...);
        $headers = \Quayside\Panel\headersOfRequest();
        return (new Gateway($this->config))->notify(request()->getContent(), $headers, $total) ?? false;
    }
}
