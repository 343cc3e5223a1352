/** HTTPS in front of an installation, as on a server: a proxy ends it and passes the call on. */
import { request as plainRequest } from 'node:http';
import { createServer, request } from 'node:https';
import type { AddressInfo } from 'node:net';
import { signature } from '../../support/signed-client.ts';
import type { Json } from './installation.ts';
import { nowS, type Shop } from './shop.ts';

/** Reads a path through a proxy that speaks HTTPS, and that the caller checks by its certificate. */
export async function throughTls(shop: Shop, path: string): Promise<Readonly<{ status: number; body: Json }>> {
  const { baseUrl, apiKey, apiSecret, tls } = shop.installation;
  const proxy = createServer(tls.server, (incoming, outgoing) => {
    const { method, headers, url } = incoming;
    const passed = { ...headers, 'x-forwarded-proto': 'https' };
    const upstream = plainRequest(`${baseUrl}${url}`, { method, headers: passed }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(outgoing);
    });
    incoming.pipe(upstream);
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  const { port } = proxy.address() as AddressInfo;
  const [timestamp, nonce] = [String(nowS()), `nonce-${port}-${Date.now()}`];
  const headers = {
    Authorization: `Bearer ${apiKey}`,
    'X-Service-Timestamp': timestamp,
    'X-Service-Nonce': nonce,
    'X-Service-Signature': signature(apiSecret, timestamp, nonce, ''),
  };
  try {
    return await new Promise((resolve, reject) => {
      request(`https://127.0.0.1:${port}${path}`, { headers, ca: tls.authority, agent: false }, async (answer) => {
        let text = '';
        for await (const chunk of answer) text += chunk;
        resolve({ status: answer.statusCode ?? 0, body: JSON.parse(text) });
      })
        .on('error', reject)
        .end();
    });
  } finally {
    proxy.closeAllConnections();
    await new Promise((resolve) => proxy.close(resolve));
  }
}
