import { createServer, get } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createHold } from '../../src/lib/held-refusal.ts';
import { until } from '../support/until.ts';

test('beyond what may be held at once, connections are closed, until one that is held has ended', async () => {
  const wakers: (() => void)[] = [];
  const hold = createHold({ sleep: () => new Promise<void>((resolve) => void wakers.push(resolve)) }, 2);
  const server = createServer(async (_request, response) => {
    if (await hold(response)) response.writeHead(429).end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const ask = () =>
    new Promise<number | string>((resolve) => {
      get({ port, host: '127.0.0.1', agent: false }, (response) => {
        response.resume();
        resolve(response.statusCode ?? 0);
      }).on('error', ({ message }) => resolve(message));
    });
  try {
    const held = [ask(), ask()];
    await until('two are held', () => wakers.length === 2);
    assert.is(await ask(), 'socket hang up');
    for (const wake of wakers) wake();
    assert.equal(await Promise.all(held), [429, 429]);
    const next = ask();
    await until('there is room again', () => wakers.length === 3);
    wakers[2]?.();
    assert.is(await next, 429);
  } finally {
    server.close();
  }
});

test.run();
