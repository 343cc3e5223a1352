import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { isInRanges, plainAddress, readRange } from '../../src/lib/address-range.ts';

test('a range or a single address is read; anything else is not', () => {
  const rows: Record<string, string | null> = {
    '203.0.113.0/24': '203.0.113.0/24',
    '203.0.113.7': '203.0.113.7/32',
    '2001:db8::/32': '2001:db8::/32',
    '2001:db8::7': '2001:db8::7/128',
    '203.0.113.0/33': null,
    '203.0.113/24': null,
    '0x7f000001/8': null,
    '2130706433': null,
    '::ffff:203.0.113.0/120': null,
    'shop.example': null,
    '': null,
    '/24': null,
    '203.0.113.0/24/24': null,
    '203.0.113.0/': null,
  };
  for (const [text, range] of Object.entries(rows)) assert.is(readRange(text), range, text);
});

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
