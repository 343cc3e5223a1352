/**
 * A merchant's client of the signed API, written from the interface document alone and with Node's own crypto, so that
 * it shares no mistake with the server.
 */
import { createHmac, randomUUID } from 'node:crypto';
import { type IncomingHttpHeaders, request } from 'node:http';

export type Credentials = Readonly<{ baseUrl: string; apiKey: string; apiSecret: string }>;

/** `json` is the parsed body, or null when the answer is not JSON. */
export type HttpAnswer = Readonly<{ status: number; headers: IncomingHttpHeaders; text: string; json: unknown }>;

/** Parts that a test may alter. A header set to null is not sent; a string replaces the signed one. */
export type Bend = Readonly<{
  timestamp?: string;
  nonce?: string;
  secret?: string;
  headers?: Readonly<Record<string, string | null>>;
  /** Signs these bytes instead of the body that is sent. */
  signedBody?: string;
}>;

export type SignedClient = Readonly<{
  /** @param body an object is sent as JSON, a string as it is */
  send(method: string, path: string, body?: object | string | Uint8Array, bend?: Bend): Promise<HttpAnswer>;
}>;

/** HMAC-SHA256 in hex over `timestamp.nonce.body`, keyed with the secret's text. */
export function signature(secret: string, timestamp: string, nonce: string, body: string | Uint8Array): string {
  return createHmac('sha256', secret).update(`${timestamp}.${nonce}.`).update(body).digest('hex');
}

/** HMAC-SHA256 in hex over timestamp, nonce, method and path with query, a line each, and the body. */
function requestSignature(secret: string, lines: readonly string[], body: string | Uint8Array): string {
  return createHmac('sha256', secret)
    .update(lines.map((line) => `${line}\n`).join(''))
    .update(body)
    .digest('hex');
}

/**
 * @param nowS the client's own clock, Unix seconds
 * @param signsRequest whether it also sends the signature that covers method and path
 */
export function signedClient(
  { baseUrl, apiKey, apiSecret }: Credentials,
  nowS = () => Math.floor(Date.now() / 1000),
  signsRequest = false,
): SignedClient {
  return {
    send(method, path, body = '', bend = {}) {
      const sent = typeof body === 'string' || body instanceof Uint8Array ? body : JSON.stringify(body);
      const timestamp = bend.timestamp ?? String(nowS());
      const nonce = bend.nonce ?? randomUUID();
      const signed = bend.signedBody ?? (method === 'GET' ? '' : sent);
      const secret = bend.secret ?? apiSecret;
      const headers: Record<string, string | null> = {
        ...(sent.length > 0 && { 'Content-Type': 'application/json' }),
        Authorization: `Bearer ${apiKey}`,
        'X-Service-Timestamp': timestamp,
        'X-Service-Nonce': nonce,
        'X-Service-Signature': signature(secret, timestamp, nonce, signed),
        ...(signsRequest && {
          'X-Service-Request-Signature': requestSignature(secret, [timestamp, nonce, method, path], signed),
        }),
        ...bend.headers,
      };
      return exchange(method, `${baseUrl}${path}`, headers, sent);
    },
  };
}

/** One HTTP exchange on a connection of its own. */
export function exchange(
  method: string,
  url: string,
  headers: Readonly<Record<string, string | null>> = {},
  body: string | Uint8Array = '',
): Promise<HttpAnswer> {
  const sentHeaders = Object.entries(headers).flatMap(([name, value]) => (value === null ? [] : [[name, value]]));
  return new Promise((resolve, reject) => {
    const bytes = Buffer.from(body);
    const outgoing = request(url, {
      method,
      agent: false,
      headers: { ...Object.fromEntries(sentHeaders), ...(bytes.length > 0 && { 'Content-Length': bytes.length }) },
    });
    outgoing.on('error', reject);
    outgoing.on('response', (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('error', reject);
      response.on('end', () => {
        const text = Buffer.concat(chunks).toString('utf8');
        const isJson = response.headers['content-type']?.startsWith('application/json') && text !== '';
        resolve({
          status: response.statusCode ?? 0,
          headers: response.headers,
          text,
          json: isJson ? JSON.parse(text) : null,
        });
      });
    });
    outgoing.end(bytes);
  });
}
