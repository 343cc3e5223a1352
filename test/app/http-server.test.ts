import { Agent, get, type IncomingMessage, type ServerResponse } from 'node:http';
import { type AddressInfo, createServer } from 'node:net';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { listen } from '../../src/app/http-server.ts';
import { Fault } from '../../src/core/fault.ts';
import { rawExchange } from '../support/raw-http.ts';
import { until } from '../support/until.ts';

const anyPort = { host: '127.0.0.1', port: 0, setting: 'QUAYSIDE_PORT' };

test('running answers are finished, new connections refused', async () => {
  let finish: () => void = () => {};
  let asked = 0;
  const server = await listen(anyPort, () => (_request, response) => {
    asked += 1;
    finish = () => response.end('done');
  });
  const url = `http://127.0.0.1:${server.port}/`;
  const slow = fetch(url);
  await until('the request has come', () => asked === 1);
  const closed = server.close(60_000);
  const isRefused = await fetch(url).then(
    () => false,
    () => true,
  );
  assert.ok(isRefused);
  finish();
  assert.is(await (await slow).text(), 'done');
  await closed;
});

test('an answer that takes too long after the stop is cut off', async () => {
  let asked = 0;
  const server = await listen(anyPort, () => () => {
    asked += 1;
  });
  const endless = fetch(`http://127.0.0.1:${server.port}/`).then(
    () => 'answered',
    () => 'cut off',
  );
  await until('the request has come', () => asked === 1);
  await server.close(10);
  assert.is(await endless, 'cut off');
});

test('connections are kept for longer than a proxy keeps them', async () => {
  const server = await listen(anyPort, () => (_request, response) => {
    response.end();
  });
  const answer = await fetch(`http://127.0.0.1:${server.port}/`);
  assert.is(answer.headers.get('keep-alive'), 'timeout=75');
  await server.close(0);
});

test('an answer during the stop says that the connection ends; an idle connection is closed', async () => {
  // By their paths: two connections come in any order.
  const responses = new Map<string | undefined, ServerResponse>();
  const server = await listen(anyPort, () => ({ url }, response) => {
    responses.set(url, response);
  });
  const agent = new Agent({ keepAlive: true });
  const ask = (path: string) =>
    new Promise<IncomingMessage>((resolve, reject) => {
      get({ port: server.port, path, agent }, resolve).once('error', reject);
    });
  const [plain, stream] = [ask('/plain'), ask('/stream')];
  await until('both have come', () => responses.size === 2);
  responses.get('/stream')?.write('an event');
  const closed = server.close(600_000);
  responses.get('/plain')?.end();
  assert.is((await plain).headers.connection, 'close');
  const begun = await stream;
  assert.is(begun.headers.connection, 'keep-alive');
  // Its connection is idle from here on.
  responses.get('/stream')?.end();
  begun.resume();
  await closed;
  agent.destroy();
});

test('an incomplete request is refused in time', async () => {
  const limits = { headersTimeout: 50, requestTimeout: 100, connectionsCheckingInterval: 20, keepAliveTimeout: 1000 };
  const server = await listen(anyPort, () => () => {}, limits);
  for (const begun of [
    'POST / HTTP/1.1\r\nHost: a\r\n',
    'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nhalf',
  ]) {
    const { text } = await rawExchange(`http://127.0.0.1:${server.port}`, begun);
    assert.match(text, /^HTTP\/1\.1 408 /, begun);
  }
  await server.close(0);
});

test('a port in use is a fault that names the setting', async () => {
  const other = createServer();
  await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
  const at = { ...anyPort, port: (other.address() as AddressInfo).port };
  const refused = await listen(at, () => () => {}).catch((error) => error);
  assert.instance(refused, Fault);
  assert.is(refused.code, 'port_in_use');
  assert.match(refused.message, /QUAYSIDE_PORT/);
  await new Promise((resolve) => other.close(resolve));
});

test('a host of another machine is a fault', async () => {
  const refused = await listen({ ...anyPort, host: '192.0.2.1' }, () => () => {}).catch((error) => error);
  assert.is(refused.code, 'cannot_listen');
});

test.run();
