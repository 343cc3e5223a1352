import { type AddressInfo, createServer } from 'node:net';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { listen } from '../../src/app/http-server.ts';
import { Fault } from '../../src/core/fault.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { until } from '../support/until.ts';

const anyPort = { host: '127.0.0.1', port: 0, setting: 'QUAYSIDE_PORT' };

test('answers under way are finished, new connections refused', async () => {
  let finish: () => void = () => {};
  let asked = 0;
  const server = await listen(anyPort, systemClock, () => (_request, response) => {
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

test('an answer that takes longer than the patience is cut off', async () => {
  let asked = 0;
  const server = await listen(anyPort, systemClock, () => () => {
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

test('a port that is freed while waiting is taken; one that is not is a fault that names the setting', async () => {
  const other = createServer();
  await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
  const at = { ...anyPort, port: (other.address() as AddressInfo).port };
  const refused = await listen(at, systemClock, () => () => {}).catch((error) => error);
  assert.instance(refused, Fault);
  assert.is(refused.code, 'port_in_use');
  assert.match(refused.message, /QUAYSIDE_PORT/);

  const waiting = listen(at, systemClock, () => () => {});
  await new Promise<void>((resolve) => other.close(() => resolve()));
  await (await waiting).close(0);
});

test('a host that is not ours is a fault', async () => {
  const refused = await listen({ ...anyPort, host: '192.0.2.1' }, systemClock, () => () => {}).catch((error) => error);
  assert.is(refused.code, 'cannot_listen');
});

test.run();
