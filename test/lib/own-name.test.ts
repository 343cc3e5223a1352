/** A server on the loopback address answers to no name that a web site can have. */
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { forOwnNames } from '../../src/lib/own-name.ts';

/** Asks a server that is told to listen on `listenHost`, with a Host header. @returns the status */
async function ask(listenHost: string, host: string): Promise<number | undefined> {
  const server = createServer(forOwnNames(listenHost, (_request, response) => void response.end('metrics')));
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const { port } = server.address() as AddressInfo;
  const status = await new Promise<number | undefined>((done, fail) => {
    const headers = { host, connection: 'close' };
    request({ port, host: '127.0.0.1', headers, setHost: false }, (response) => {
      response.resume();
      done(response.statusCode);
    })
      .once('error', fail)
      .end();
  });
  server.close();
  return status;
}

test('on the loopback address, only addresses and names of this machine are answered', async () => {
  for (const host of ['127.0.0.1:9464', '[::1]:9464', 'localhost:9464', 'LOCALHOST', 'quayside:9464', 'a.localhost']) {
    assert.is(await ask('127.0.0.1', host), 200, host);
  }
  for (const host of ['evil.example', 'evil.example:9464', '127.0.0.1.evil.example', 'localhost.evil.example', '']) {
    for (const listenHost of ['127.0.0.1', '::1', 'localhost']) assert.is(await ask(listenHost, host), 421, host);
  }
});

test('on another address, any name may be right', async () => {
  for (const listenHost of ['0.0.0.0', '10.0.0.5']) assert.is(await ask(listenHost, 'metrics.shop.example'), 200);
});

test.run();
