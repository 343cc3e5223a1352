<?php

const BASE_URL = 'BASE_URL';

/** Makes a signed call and returns the answer. $path includes its query. */
function call(string $method, string $path, ?array $body = null): array
{
    $text = $body === null ? '' : json_encode($body, JSON_THROW_ON_ERROR);
    $timestamp = (string) time();
    $nonce = bin2hex(random_bytes(16));
    $sign = fn (string $signed) => hash_hmac('sha256', $signed, getenv('API_SECRET'));
    $headers = [
        'Authorization: Bearer ' . getenv('API_KEY'),
        'Content-Type: application/json',
        "X-Service-Timestamp: $timestamp",
        "X-Service-Nonce: $nonce",
        'X-Service-Signature: ' . $sign("$timestamp.$nonce.$text"),
        'X-Service-Request-Signature: ' . $sign("$timestamp\n$nonce\n$method\n$path\n$text"),
    ];
    $http = ['method' => $method, 'header' => $headers, 'content' => $text, 'ignore_errors' => true];
    $json = file_get_contents(BASE_URL . $path, false, stream_context_create(['http' => $http]));
    if ($json === false) {
        throw new RuntimeException('No answer from ' . BASE_URL);
    }
    $answer = json_decode($json, true, 512, JSON_THROW_ON_ERROR);
    if (isset($answer['error'])) {
        throw new RuntimeException($answer['error']['code'] . ': ' . $answer['error']['message']);
    }
    return $answer;
}
