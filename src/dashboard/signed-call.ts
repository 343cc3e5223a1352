/**
 * A signed call to the API as lines for a shell, to paste and try.
 */
import type { StoreAt } from './page.ts';

const PATH = '/api/v1/checkout/sessions/create';

/** Letters, digits, and what separates them in keys: nothing that a shell reads otherwise. */
const PLAIN = /^[\w…-]+$/;

/**
 * Returns the lines, which create a payment of 10.50 USD. They need curl and OpenSSL.
 * @param baseUrl of the API
 */
export function signedCall(
  { storeId }: StoreAt,
  baseUrl: string,
  { apiKey, apiSecret }: Readonly<{ apiKey: string; apiSecret: string }>,
): string {
  if (!PLAIN.test(apiKey) || !PLAIN.test(apiSecret)) throw new Error('a key and its secret are plain text');
  return `API_KEY='${apiKey}'
API_SECRET='${apiSecret}'
BODY='{"amount": 1050, "currency": "USD", "order_id": "first-call"}'
TIMESTAMP=$(date +%s)
NONCE=$(openssl rand -hex 16)
sign() { openssl dgst -sha256 -hmac "$API_SECRET" | sed 's/^.* //'; }
curl -sS '${baseUrl}${PATH}' \\
  -H "Authorization: Bearer $API_KEY" \\
  -H 'Content-Type: application/json' \\
  -H 'X-Merchant-Id: ${storeId}' \\
  -H "X-Service-Timestamp: $TIMESTAMP" \\
  -H "X-Service-Nonce: $NONCE" \\
  -H "X-Service-Signature: $(printf '%s.%s.%s' "$TIMESTAMP" "$NONCE" "$BODY" | sign)" \\
  -H "X-Service-Request-Signature: $(printf '%s\\n%s\\nPOST\\n${PATH}\\n%s' "$TIMESTAMP" "$NONCE" "$BODY" | sign)" \\
  -d "$BODY"
`;
}
