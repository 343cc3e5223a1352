/** What a transaction means to the payer who asks about it, and how long the node is asked. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import {
  judge,
  LOOKUP_AGE_MS_MAX,
  type LookupContext,
  type LookupResult,
  lookupResults,
  nextLookAtMs,
} from '../../src/core/lookup.ts';

const context: LookupContext = {
  ownKey: 'own',
  others: new Set(['theirs']),
  accepts: ['USDT'],
  isOwnNetwork: true,
  isKept: false,
  floor: 100,
};
const mined = (to: string, currency: 'USDT' | 'USDC' | null = 'USDT', number = 101) =>
  ({ kind: 'mined', number, succeeded: true, transfers: [{ to, currency }] }) as const;

test('each report of a node has its meaning for one session', () => {
  const cases: readonly (readonly [LookupResult, Parameters<typeof judge>[0], Partial<LookupContext>?])[] = [
    ['unknown', { kind: 'unknown' }],
    ['waiting', { kind: 'waiting' }],
    ['failed', { ...mined('own'), succeeded: false }],
    ['elsewhere', mined('stranger')],
    ['elsewhere', { ...mined('own'), transfers: [] }],
    ['other_order', mined('theirs')],
    ['wrong_token', mined('own', 'USDC')],
    ['wrong_token', mined('own', null), { isKept: true }],
    ['wrong_network', mined('own'), { isOwnNetwork: false }],
    ['unread', mined('own')],
    ['missed', mined('own', 'USDT', 100)],
    ['kept', mined('own'), { isKept: true }],
    ['kept', mined('own', 'USDT', 1), { isKept: true }],
  ];
  for (const [finding, report, more] of cases) assert.is(judge(report, { ...context, ...more }), finding);
  assert.equal(
    [...new Set(cases.map(([finding]) => finding))].sort(),
    [...lookupResults].sort(),
    'every result is reached',
  );
});

test('a payment to this session is recognized among transfers to others and in other tokens', () => {
  const transfers = [...mined('theirs').transfers, ...mined('own', null).transfers, ...mined('own').transfers];
  assert.is(judge({ ...mined('own'), transfers }, { ...context, isKept: true }), 'kept');
});

test('an open lookup is asked again, soon at first, and only for a limited time', () => {
  let nowMs = 0;
  const looks: number[] = [];
  for (let next = nextLookAtMs('unknown', 0, 0); next !== null; next = nextLookAtMs('unknown', 0, nowMs)) {
    assert.ok(next > nowMs);
    nowMs = next;
    looks.push(nowMs);
  }
  assert.ok(looks.length < 30, `${looks.length} looks`);
  assert.is(looks[0], 2000);
  assert.ok(nowMs < LOOKUP_AGE_MS_MAX);
  for (const finding of lookupResults) {
    const isOpen = ['unknown', 'waiting', 'unread'].includes(finding);
    assert.is(nextLookAtMs(finding, 0, 10) !== null, isOpen, finding);
  }
});

test.run();
