<?php

/**
 * Returns the event, or null if it must not be trusted.
 * $headers: names in lower case. $body: file_get_contents('php://input').
 * $secrets: the endpoint's secret in an array; while it is being rotated, both.
 */
function verify_webhook(array $headers, string $body, array $secrets, string $mode = 'live', ?int $now = null): ?array
{
    $timestamp = $headers['x-service-timestamp'] ?? '';
    $given = strtolower($headers['x-service-signature'] ?? '');
    $signed = $timestamp . '.' . ($headers['x-service-nonce'] ?? '') . '.' . $body;
    $isSigned = false;
    foreach ($secrets as $secret) {
        $isSigned = hash_equals(hash_hmac('sha256', $signed, $secret), $given) || $isSigned;
    }
    if (!$isSigned || abs(($now ?? time()) - (int) $timestamp) > 300) {
        return null;
    }
    $event = json_decode($body, true);
    return ($event['livemode'] ?? null) === ($mode === 'live') ? $event : null;
}
