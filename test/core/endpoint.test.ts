import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { type EndpointHealth, healthAfter, replayAtMs } from '../../src/core/endpoint.ts';
import { has } from '../support/fields.ts';

const DAY_MS = 86_400_000;
const well: EndpointHealth = {
  failingSinceMs: null,
  failures: 0,
  gones: 0,
  silences: 0,
  pausedUntilMs: 0,
  disabledAtMs: null,
};
const answer = (status: number | null, more: Partial<Parameters<typeof healthAfter>[1]> = {}) => ({
  isDelivered: status === 200,
  status,
  isFirst: true,
  startedAtMs: 1_000,
  durationMs: 10,
  ...more,
});

test('five attempts without an answer bring a pause, which doubles up to 32 times; any answer ends it', () => {
  let health = well;
  const pauses = Array.from({ length: 12 }, () => {
    health = healthAfter(health, answer(null));
    return health.pausedUntilMs === 0 ? 0 : health.pausedUntilMs - 1_010;
  });
  assert.equal(pauses, [0, 0, 0, 0, 1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 32_000, 32_000]);
  has(healthAfter(health, answer(500)), { silences: 0, pausedUntilMs: 0 });
});

test('ten events that were not accepted in seven days switch an endpoint off; a repeated attempt counts no event', () => {
  const failing = { ...well, failures: 9, failingSinceMs: 0 };
  const after = (status: number, durationMs: number, more = {}, before: EndpointHealth = failing) =>
    healthAfter(before, answer(status, { startedAtMs: 0, durationMs, ...more }));
  assert.is(after(500, 7 * DAY_MS).disabledAtMs, 7 * DAY_MS);
  assert.is(after(500, 7 * DAY_MS - 1).disabledAtMs, null);
  assert.is(after(500, 7 * DAY_MS, { isFirst: false }).disabledAtMs, null);
  assert.is(after(500, 7 * DAY_MS, {}, { ...failing, failures: 8 }).disabledAtMs, null);
  assert.is(after(500, 8 * DAY_MS, {}, { ...failing, disabledAtMs: 5 }).disabledAtMs, 5, 'since the first time');
  assert.equal(after(200, 7 * DAY_MS, {}, { ...failing, gones: 2, silences: 3 }), well);
});

test('three answers 410 in a row switch it off after an hour', () => {
  const gone = { ...well, gones: 2, failures: 2, failingSinceMs: 0 };
  const after = (status: number | null, durationMs: number, more = {}) =>
    healthAfter(gone, answer(status, { startedAtMs: 0, durationMs, ...more }));
  assert.is(after(410, 3_600_000).disabledAtMs, 3_600_000);
  assert.is(after(410, 3_599_999).disabledAtMs, null);
  assert.is(after(410, 3_600_000, { isFirst: false }).gones, 2);
  assert.is(after(null, 3_600_000).gones, 2, 'no answer says nothing');
  assert.is(after(404, 3_600_000).gones, 0);
});

test('a refused delivery is sent again soon, then after two minutes, four, eight', () => {
  assert.equal(
    [0, 1, 2, 3, 4].map((attempts) => replayAtMs(attempts, 5)),
    [1_005, 1_005, 120_005, 240_005, 480_005],
  );
});

test.run();
