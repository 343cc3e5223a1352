<?php

/** Makes the calls that it reads, a line of JSON each, with the PHP client, and answers each with a line. */

require __DIR__ . '/../../sdk/php/quayside.php';

use Quayside\QuaysideException;

$now = getenv('NOW');
$client = new Quayside\Client(
    getenv('API_KEY'),
    getenv('API_SECRET'),
    getenv('BASE_URL'),
    timeout: 5,
    now: $now === false ? null : fn (): float => (float) $now,
);

$calls = [
    'sessions' => fn (array $filter) => iterator_to_array($client->sessions($filter), false),
    'refunds' => fn (array $filter) => iterator_to_array($client->refunds($filter), false),
    'events' => fn (array $filter) => iterator_to_array($client->events($filter), false),
    'verify' => fn (...$args) => $client->verifyWebhook(...$args),
    'show' => fn () => print_r($client, true) . var_export((array) $client->__debugInfo(), true),
];

while (($line = fgets(STDIN)) !== false) {
    $asked = json_decode($line, true);
    try {
        $call = $calls[$asked['call']] ?? [$client, $asked['call']];
        $answer = ['result' => $call(...$asked['args'])];
    } catch (QuaysideException $error) {
        $kind = preg_replace('/^Quayside.|Exception$/', '', $error::class);
        $fields = ['status' => $error->status, 'type' => $error->type, 'code' => $error->apiCode];
        $fields += ['param' => $error->param, 'requestId' => $error->requestId, 'kind' => $kind];
        $answer = ['error' => $fields + ['message' => (string) $error]];
    } catch (InvalidArgumentException $error) {
        $answer = ['error' => ['kind' => 'Refused', 'message' => $error->getMessage()]];
    }
    echo json_encode($answer), "\n";
}
