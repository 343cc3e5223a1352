<?php

/**
 * The parts of Xboard and of V2Board that a payment method meets, for PHP's own web server: one order in a file, creating
 * its payment, and taking notifications as the controllers of both do.
 */

namespace App\Contracts {
    interface PaymentInterface
    {
    }
}

namespace App\Exceptions {
    class ApiException extends \Exception
    {
    }
}

namespace App\Services\Plugin {
    abstract class AbstractPlugin
    {
        protected array $config = [];
        protected array $filters = [];

        public function setConfig(array $config): void
        {
            $this->config = $config;
        }

        public function getPluginCode(): string
        {
            return 'quayside';
        }

        protected function filter(string $hook, callable $callback): void
        {
            $this->filters[$hook] = $callback;
        }

        public function methods(): array
        {
            return ($this->filters['available_payment_methods'])([]);
        }
    }
}

namespace Illuminate\Support\Facades {
    class Log
    {
        public static function error(string $text): void
        {
            error_log($text);
        }
    }
}

namespace App\Models {
    class Order
    {
        public string $trade_no;
        public int $total_amount;
        public ?int $handling_amount;
        public int $status;
        public ?string $callback_no;

        public static function where(string $column, string $value): static
        {
            $order = new static();
            foreach (json_decode(file_get_contents(getenv('ORDER')), true) as $name => $own) {
                $order->$name = $own;
            }
            return $order->$column === $value ? $order : new NoOrder();
        }

        public function first(): ?static
        {
            return $this;
        }

        public function save(): void
        {
            file_put_contents(getenv('ORDER'), json_encode($this));
        }
    }

    class NoOrder extends Order
    {
        public function first(): ?static
        {
            return null;
        }
    }
}

namespace {
    function request(): object
    {
        return new class () {
            public object $headers;

            public function __construct()
            {
                $this->headers = new class () {
                    public function all(): array
                    {
                        return array_map(fn ($value) => [$value], array_change_key_case(getallheaders()));
                    }
                };
            }

            public function getContent(): string
            {
                return file_get_contents('php://input');
            }
        };
    }

    function response(string $text): string
    {
        return $text;
    }

    function abort(int $status, string $text): never
    {
        throw new RuntimeException($text, $status);
    }

    function handle(object $method): string
    {
        $order = App\Models\Order::where('trade_no', 'order-1')->first();
        if ($_SERVER['REQUEST_URI'] === '/pay') {
            return json_encode($method->pay([
                'trade_no' => $order->trade_no,
                'total_amount' => $order->total_amount + (int) $order->handling_amount,
                'notify_url' => getenv('NOTIFY'),
                'return_url' => 'http://panel.example/#/order/order-1',
            ]));
        }
        $verified = $method->notify([]);
        if (!$verified) {
            abort(422, 'verify error');
        }
        $order = App\Models\Order::where('trade_no', $verified['trade_no'])->first();
        if ($order->status === 0) {
            $order->status = 1;
            $order->callback_no = $verified['callback_no'];
            $order->save();
        }
        return 'success';
    }

    $config = json_decode(getenv('CONFIG'), true);
    if (getenv('PANEL') === 'Xboard') {
        require getenv('FOLDER') . '/Quayside/Plugin.php';
        $method = new Plugin\Quayside\Plugin();
        $method->boot();
        $method->setConfig($config);
        if (array_keys($method->methods()) !== ['Quayside']) {
            abort(500, 'the method is not offered');
        }
    } else {
        require getenv('FOLDER') . '/Quayside.php';
        $method = new App\Payments\Quayside($config);
    }
    if (array_keys($method->form()) !== array_keys($config)) {
        abort(500, 'the form asks for other settings');
    }
    try {
        echo handle($method);
    } catch (Exception $error) {
        http_response_code(500);
        echo $error->getMessage();
    } catch (Throwable $error) {
        // As Laravel's handler does.
        echo $error->render();
    }
}
