import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { isInRanges, plainAddress } from '../../src/lib/address-range.ts';

test('an address is in a range of its own family, and IPv4 in IPv6 counts as IPv4', () => {
  const ranges = ['203.0.113.128/25', '2001:db8::/32', '198.51.100.7/32'];
  for (const ip of ['203.0.113.128', '::ffff:203.0.113.255', '2001:db8:ffff::1', '198.51.100.7'])
    assert.ok(isInRanges(ip, ranges), ip);
  for (const ip of [
    '203.0.113.127',
    '::203.0.113.129',
    '2001:db9::',
    '198.51.100.8',
    '',
    'x',
    '203.0.113.128, 1.2.3.4',
  ])
    assert.not.ok(isInRanges(ip, ranges), ip);
  assert.not.ok(isInRanges('203.0.113.128', []));
});

test('addresses are written as people write them', () => {
  const rows = { '::ffff:203.0.113.7': '203.0.113.7', '2001:DB8:0:0::1': '2001:db8::1', unknown: 'unknown' };
  for (const [ip, text] of Object.entries(rows)) assert.is(plainAddress(ip), text);
});

test.run();
