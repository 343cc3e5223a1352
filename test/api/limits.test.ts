import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createAddressLimiter, createLimiter } from '../../src/lib/rate-limit.ts';
import { withApi } from '../support/api-server.ts';
import { handClock } from '../support/hand-clock.ts';
import { exchange } from '../support/signed-client.ts';
import { expectError } from './expect-error.ts';

const CREATE = '/api/v1/checkout/sessions/create';
const body = (id: string) => ({ amount: 100, currency: 'USD', order_id: id });

test('a burst may be larger than the refill of a second', () => {
  const clock = handClock();
  const limiter = createLimiter({ perSecond: 0.1, burst: 2, namesMax: 10, clock });
  assert.equal([limiter.take('one'), limiter.take('one')], [0, 0]);
  assert.is(limiter.take('one'), 10);
  clock.advance(10_000);
  assert.equal([limiter.take('one'), limiter.take('one')], [0, 10]);
});

test('a key continues at its rate: the nonce of a refused request is still valid', () =>
  withApi({ limits: { requestsPerSecondPerKey: 3 } }, async (api) => {
    for (const id of ['a', 'b', 'c']) assert.is((await api.send('POST', CREATE, body(id))).status, 200);
    const nonce = 'nonce-of-a-refused-request';
    const refused = await api.send('POST', CREATE, body('d'), { nonce });
    expectError(refused, { status: 429, code: 'rate_limited', param: null });
    assert.is(refused.headers['retry-after'], '1');

    const other = await api.addKey(api.merchantId, 'test');
    assert.is((await api.client(other).send('POST', CREATE, body('e'))).status, 200, 'another key is not delayed');

    api.clock.advance(Number(refused.headers['retry-after']) * 1000);
    assert.is((await api.send('POST', CREATE, body('d'), { nonce })).status, 200);
  }));

test('requests with a wrong signature do not use up the rate of a key', () =>
  withApi({ limits: { requestsPerSecondPerKey: 2 } }, async (api) => {
    for (let at = 0; at < 5; at++) {
      expectError(await api.send('POST', CREATE, body('a'), { secret: 'guess' }), {
        status: 401,
        code: 'invalid_signature',
      });
    }
    assert.is((await api.send('POST', CREATE, body('a'))).status, 200);
  }));

test('an IP address is limited before authentication, except for health', () =>
  withApi({ limits: { requestsPerSecondPerAddress: 2 } }, async (api) => {
    const ask = (path: string, headers = {}) => exchange('GET', api.baseUrl + path, headers);
    assert.is((await ask('/nowhere')).status, 404);
    assert.is((await ask('/docs')).status, 200);
    expectError(await ask('/nowhere'), { status: 429, code: 'rate_limited' });
    expectError(await api.send('POST', CREATE, body('a')), { status: 429, code: 'rate_limited' });
    assert.is((await ask('/livez')).status, 200);
    // A proxy on this machine names the client's address. Each has its own rate; an IPv6 subscriber has one for a /64.
    const from = (address: string) => ask('/nowhere', { 'X-Forwarded-For': address });
    // Requests that are sent together come in any order.
    const statuses = async (addresses: readonly string[]) =>
      (await Promise.all(addresses.map(from))).map(({ status }) => status).sort();
    assert.equal(await statuses(['192.0.2.1', '192.0.2.1', '192.0.2.1']), [404, 404, 429]);
    assert.is((await from('192.0.2.2')).status, 404);
    const subscriber = ['2001:db8:0:1::1', '2001:db8:0:1:ffff::2', '2001:db8:0:1:2:3:4:5'];
    assert.equal(await statuses(subscriber), [404, 404, 429]);
    assert.is((await from('2001:db8:0:2::1')).status, 404);
  }));

test('pages have a limit of their own, which neither files nor signed calls use up', () =>
  withApi({ limits: { pagesPerSecondPerAddress: 2 }, pages: true }, async (api) => {
    const page = async (from = '192.0.2.1', path = '/pay/cs_none') =>
      (await exchange('GET', api.baseUrl + path, { 'X-Forwarded-For': from })).status;
    const times = async (count: number, ask: () => Promise<number>): Promise<number[]> => {
      const statuses: number[] = [];
      for (let at = 0; at < count; at++) statuses.push(await ask());
      return statuses;
    };
    // Three seconds' worth at once, then the rate.
    assert.equal(await times(7, () => page()), [404, 404, 404, 404, 404, 404, 429]);
    assert.equal(new Set(await times(20, () => page('192.0.2.1', '/pay/none.css'))), new Set([404]));
    assert.is(await page('192.0.2.2'), 404);
    assert.is((await api.send('POST', CREATE, body('a'))).status, 200);
    api.clock.advance(1000);
    assert.equal(await times(3, () => page()), [404, 404, 429]);
  }));

test('a whole /48 has sixteen times the rate of one subscriber, and its neighbours are not limited by one of them', () => {
  const clock = handClock();
  const limiter = createAddressLimiter({ perSecond: 2, namesMax: 1_000, clock });
  const asks = (subnet: number, site = '2001:db8:1') => limiter.take(`${site}:${subnet.toString(16)}::1`);
  const taken = (waits: readonly number[]) => waits.filter((wait) => wait === 0).length;
  assert.is(taken(Array.from({ length: 100 }, () => asks(0))), 2, 'one subscriber');
  assert.is(taken(Array.from({ length: 100 }, (_, subnet) => asks(subnet + 1))), 30, 'all the others together');
  assert.is(asks(1, '2001:db8:2'), 0, 'another site');
  assert.is(taken(Array.from({ length: 10 }, (_, host) => limiter.take(`192.0.2.${host}`))), 10, 'IPv4');
});

test('health is limited for each address, far above what a load balancer asks', () =>
  withApi({}, async (api) => {
    for (const path of ['/livez', '/readyz']) {
      const asked = await Promise.all(Array.from({ length: 60 }, () => exchange('GET', api.baseUrl + path)));
      const refused = asked.filter(({ status }) => status === 429);
      assert.is(refused.length, path === '/livez' ? 10 : 60, path);
      assert.ok(refused.every(({ headers }) => headers['retry-after'] === '1'));
    }
    api.clock.advance(1_000);
    assert.is((await exchange('GET', `${api.baseUrl}/livez`)).status, 200);
  }));

test('only a trusted proxy names the client’s address', () =>
  withApi({ limits: { requestsPerSecondPerAddress: 1 }, trustedProxies: ['10.0.0.0/8'] }, async (api) => {
    const from = async (address: string) =>
      (await exchange('GET', `${api.baseUrl}/nowhere`, { 'X-Forwarded-For': address })).status;
    assert.equal([await from('192.0.2.1'), await from('192.0.2.2')], [404, 429]);
  }));

test('over any stretch of time, no more than a second of burst beyond the rate', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 50 }),
      fc.array(fc.integer({ min: 0, max: 400 }), { maxLength: 200 }),
      (perSecond, pausesMs) => {
        const clock = handClock();
        const limiter = createLimiter({ perSecond, namesMax: 10, clock });
        const startMs = clock.nowMs();
        let taken = 0;
        for (const pauseMs of pausesMs) {
          clock.advance(pauseMs);
          const waitS = limiter.take('one');
          if (waitS === 0) taken++;
          assert.ok(taken <= perSecond + ((clock.nowMs() - startMs) / 1000) * perSecond + 1e-6);
          if (waitS === 0) continue;
          // A client that waits as asked is let in.
          clock.advance(waitS * 1000);
          assert.is(limiter.take('one'), 0);
          taken++;
        }
      },
    ),
  );
});

test('a clock that is set back neither drains nor fills a bucket', () => {
  const clock = handClock();
  const limiter = createLimiter({ perSecond: 2, namesMax: 10, clock });
  assert.is(limiter.take('one'), 0);
  clock.advance(-60_000);
  assert.is(limiter.take('one'), 0);
  assert.is(limiter.take('one'), 1);
});

test('the number of names is limited, and idle ones are dropped first', () => {
  const limiter = createLimiter({ perSecond: 1, namesMax: 3, clock: handClock() });
  for (const name of ['a', 'b', 'c']) assert.is(limiter.take(name), 0);
  assert.is(limiter.take('c'), 1, 'a known name takes nobody’s place');
  assert.is(limiter.take('a'), 1, 'a is used again, so b is the oldest');
  assert.is(limiter.take('d'), 0);
  assert.is(limiter.take('a'), 1, 'a is still known');
  assert.is(limiter.take('b'), 0, 'b was dropped');
});

test.run();
