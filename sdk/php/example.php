<?php

/** Asks for 10.50 USD and prints where the customer pays. */

require __DIR__ . '/quayside.php';

$client = new Quayside\Client(getenv('QUAYSIDE_KEY'), getenv('QUAYSIDE_SECRET'), getenv('QUAYSIDE_URL'));

$session = $client->createSession(['amount' => 1050, 'currency' => 'USD', 'order_id' => 'example-php']);
echo "{$session['id']} is {$session['payment_status']}: {$session['payer_url']}\n";
foreach ($client->sessions(['order_id' => 'example-php']) as $one) {
    echo "{$one['id']} has ", count($one['payments'] ?? []), " payments\n";
}
