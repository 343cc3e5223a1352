import { createHmac, randomUUID } from 'node:crypto';

const BASE_URL = 'BASE_URL';
const { API_KEY, API_SECRET } = process.env;

const hmac = (text) => createHmac('sha256', API_SECRET).update(text).digest('hex');

/**
 * Makes a signed call and returns the answer.
 * @param path with its query, if there is one
 */
export async function call(method, path, body) {
  const text = body ? JSON.stringify(body) : '';
  const timestamp = String(Math.floor(Date.now() / 1000));
  const nonce = randomUUID();
  const response = await fetch(BASE_URL + path, {
    method,
    headers: {
      Authorization: `Bearer ${API_KEY}`,
      'Content-Type': 'application/json',
      'X-Service-Timestamp': timestamp,
      'X-Service-Nonce': nonce,
      'X-Service-Signature': hmac(`${timestamp}.${nonce}.${text}`),
      'X-Service-Request-Signature': hmac([timestamp, nonce, method, path, text].join('\n')),
    },
    body: text || undefined,
  });
  const answer = await response.json();
  if (!response.ok) throw new Error(`${answer.error.code}: ${answer.error.message}`);
  return answer;
}
