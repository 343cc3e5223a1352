/**
 * A gateway in front of nodes, as operators have them: the client's connections stay, and the node behind them may
 * change.
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

export type Switchboard = Readonly<{
  url: string;
  /** Sends every request from now on to this node. */
  connectTo(url: string): void;
  close(): Promise<void>;
}>;

export async function startSwitchboard(firstUrl: string): Promise<Switchboard> {
  let nodeUrl = firstUrl;
  const server = createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    const headers = { 'content-type': 'application/json' };
    try {
      const answer = await fetch(`${nodeUrl}${request.url}`, { method: 'POST', headers, body });
      response.writeHead(answer.status, headers).end(await answer.text());
    } catch {
      // The node was stopped meanwhile: a gateway then resets the connection.
      response.destroy();
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    connectTo(url) {
      nodeUrl = url;
    },
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
