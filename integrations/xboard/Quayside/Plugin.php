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
            $code = $this->getPluginCode();
            return $methods + [
                'Quayside' => ['name' => 'Quayside', 'icon' => '💵', 'plugin_code' => $code, 'type' => 'plugin'],
            ];
        });
    }

    public function form(): array
    {
        return Gateway::form('string');
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
        return (new Gateway($this->config))->notified();
    }
}
