import { createHmac, timingSafeEqual } from 'node:crypto';

/**
 * Returns the event, or null if it must not be trusted.
 * @param headers in lower case, as Node gives them
 * @param body the raw bytes as a Buffer, before any JSON parser
 * @param secrets the endpoint's secret; while it is being rotated, a list of both
 */
export function verifyWebhook(headers, body, secrets, mode = 'live', nowS = Date.now() / 1000) {
  const { 'x-service-timestamp': timestamp, 'x-service-nonce': nonce, 'x-service-signature': signature } = headers;
  const given = Buffer.from(signature ?? '', 'hex');
  const isSigned = [secrets].flat().some((secret) => {
    const expected = createHmac('sha256', secret).update(`${timestamp}.${nonce}.`).update(body).digest();
    return given.length === expected.length && timingSafeEqual(given, expected);
  });
  if (!isSigned || !(Math.abs(nowS - Number(timestamp)) <= 300)) return null;
  const event = JSON.parse(body);
  return event.livemode === (mode === 'live') ? event : null;
}
