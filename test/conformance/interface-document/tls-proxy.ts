/** HTTPS in front of an installation, as on a server: a proxy ends it and passes the call on. */
import { request as plainRequest } from 'node:http';
import { request } from 'node:https';
import { startMerchantServer } from '../../support/merchant-server.ts';
import { signature } from '../../support/signed-client.ts';
import type { Json } from './installation.ts';
import { nowS, type Shop } from './shop.ts';

/** Reads a path through a proxy that speaks HTTPS, and that the caller checks by its certificate. */
export async function throughTls(shop: Shop, path: string): Promise<Readonly<{ status: number; body: Json }>> {
  const { baseUrl, apiKey, apiSecret, tls } = shop.installation;
  const proxy = await startMerchantServer((response, { method, headers, path: url, body }) => {
    const passed = { ...headers, 'x-forwarded-proto': 'https' };
    const upstream = plainRequest(`${baseUrl}${url}`, { method, headers: passed }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    });
    upstream.end(body);
  }, tls.server);
  const [timestamp, nonce] = [String(nowS()), `nonce-of-tls-${Date.now()}`];
  const headers = {
    Authorization: `Bearer ${apiKey}`,
    'X-Service-Timestamp': timestamp,
    'X-Service-Nonce': nonce,
    'X-Service-Signature': signature(apiSecret, timestamp, nonce, ''),
  };
  try {
    return await new Promise((resolve, reject) => {
      request(`${proxy.origin}${path}`, { headers, ca: tls.authority, agent: false }, async (answer) => {
        let text = '';
        for await (const chunk of answer) text += chunk;
        resolve({ status: answer.statusCode ?? 0, body: JSON.parse(text) });
      })
        .on('error', reject)
        .end();
    });
  } finally {
    await proxy.close();
  }
}
