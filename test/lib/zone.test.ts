/** Days and times in zones, also where clocks are changed. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { DAY_MS } from '../../src/lib/clock.ts';
import { dateIn, datePlus, readZone, startOfDayMs, timeIn } from '../../src/lib/zone.ts';

const at = (text: string): number => Date.parse(text);

test('zones are known by their names', () => {
  for (const zone of ['UTC', 'Europe/Berlin', 'Asia/Kathmandu', 'America/St_Johns']) assert.ok(readZone(zone), zone);
  for (const text of ['', 'Berlin', 'Europe/Nowhere', '<b>', 'UTC+25', '+05:30']) assert.is(readZone(text), null, text);
});

test('a zone has one spelling, so that nobody fills the memory with others', () => {
  const letters = [...'america/argentina/comodrivadavia'];
  const spellings = Array.from({ length: 500 }, (_, n) =>
    letters.map((one, at) => ((n >> (at % 9)) & 1 ? one.toUpperCase() : one)).join(''),
  );
  assert.ok(new Set(spellings).size > 400);
  assert.is(new Set(spellings.map(readZone)).size, 1);
  assert.is(readZone('EUROPE/berlin'), 'Europe/Berlin');
  assert.is(readZone('asia/KOLKATA'), 'Asia/Kolkata', 'not the name that it had before');
});

test('times are what the clocks of a zone show', () => {
  const ms = at('2026-11-25T20:05:09.999Z');
  assert.is(timeIn('UTC', ms), '2026-11-25 20:05:09');
  assert.is(timeIn('Europe/Berlin', ms), '2026-11-25 21:05:09');
  assert.is(timeIn('Asia/Kathmandu', ms), '2026-11-26 01:50:09');
  assert.is(timeIn('America/Los_Angeles', at('2026-07-01T06:59:59Z')), '2026-06-30 23:59:59');
  assert.is(timeIn('UTC', at('2026-11-25T00:00:00Z')), '2026-11-25 00:00:00', 'midnight is not 24:00');
});

test('a day begins at the first moment of its date, also on days that clocks are changed', () => {
  const starts: readonly (readonly [string, string, string])[] = [
    ['UTC', '2026-11-25', '2026-11-25T00:00:00Z'],
    ['Europe/Berlin', '2026-03-29', '2026-03-28T23:00:00Z'],
    ['Europe/Berlin', '2026-03-30', '2026-03-29T22:00:00Z'],
    ['Europe/Berlin', '2026-10-25', '2026-10-24T22:00:00Z'],
    ['Europe/Berlin', '2026-10-26', '2026-10-25T23:00:00Z'],
    ['Asia/Kathmandu', '2026-01-01', '2025-12-31T18:15:00Z'],
    // There is no midnight on the first of these days, and two on the second.
    ['Asia/Beirut', '2025-03-30', '2025-03-29T22:00:00Z'],
    ['America/Havana', '2025-03-09', '2025-03-09T05:00:00Z'],
    ['America/Asuncion', '2024-03-24', '2024-03-24T04:00:00Z'],
    ['Pacific/Kiritimati', '2026-01-01', '2025-12-31T10:00:00Z'],
  ];
  for (const [zone, date, start] of starts) {
    assert.is(new Date(startOfDayMs(zone, date) ?? 0).toISOString(), new Date(start).toISOString(), `${zone} ${date}`);
  }
  for (const text of ['', '2026-13-01', '2026-11-25T00:00', 'today']) assert.is(startOfDayMs('UTC', text), null, text);
});

test('the days of a year follow one another', () => {
  const zones = Intl.supportedValuesOf('timeZone').filter((_, nth) => nth % 30 === 7);
  for (const zone of [...zones, 'Antarctica/Troll', 'Australia/Lord_Howe', 'Asia/Beirut', 'America/Havana']) {
    let date = '2025-01-01';
    for (let day = 0; day < 366; day += 1) {
      const startMs = startOfDayMs(zone, date) ?? 0;
      assert.is(dateIn(zone, startMs), date, zone);
      assert.is(dateIn(zone, startMs - 1), datePlus(date, -1), zone);
      assert.ok((startOfDayMs(zone, datePlus(date, 1)) ?? 0) - startMs <= DAY_MS + 2 * 3_600_000, zone);
      date = datePlus(date, 1);
    }
  }
});

test.run();
