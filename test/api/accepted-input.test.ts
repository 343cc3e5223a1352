/**
 * Whatever the input schemas accept can be written to the database and comes back as it was sent. Everything else gets
 * a 4xx answer.
 */

import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { Refusal } from '../../src/api/errors.ts';
import { check } from '../../src/api/parameter.ts';
import { createRefundSchema } from '../../src/api/refund-input.ts';
import { createSessionSchema, readSessionInput } from '../../src/api/session-input.ts';
import { startApi } from '../support/api-server.ts';
import { paidSale } from '../support/payment-scenes.ts';
import { runs } from '../support/runs.ts';
import type { HttpAnswer } from '../support/signed-client.ts';

type Body = Readonly<Record<string, unknown>>;
type Answered = Readonly<{ id: string; metadata?: object; description?: string }>;

/** Add `seed` and `path` of a failure here to replay it. */
const replay = { numRuns: runs(200) };
const api = await startApi();
let names = 0;

/** Text with everything that JSON can contain: control characters, half surrogate pairs, quotes, NUL. */
const unit = fc.oneof(
  fc.string({ minLength: 1, maxLength: 1 }),
  fc.integer({ min: 0, max: 0xffff }).map((code) => String.fromCharCode(code)),
  fc.constantFrom('\0', '"', '\\', '\u2028', '😀'),
);
const text = (lengthMax: number) => fc.string({ unit, maxLength: lengthMax });
const words = fc.oneof(
  { weight: 4, arbitrary: text(20) },
  fc.integer({ min: 0, max: 1100 }).map((at) => 'é'.repeat(at)),
);
const maybe = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined, freq: 3 });
const known = <T>(value: T, arbitrary: fc.Arbitrary<unknown>) =>
  fc.oneof({ weight: 9, arbitrary: fc.constant(value as unknown) }, { weight: 1, arbitrary });

const nested = (levels: number, isArray: boolean): unknown => {
  let value: unknown = 'x';
  for (let level = 0; level < levels; level++) value = isArray ? [value] : { a: value };
  return value;
};
const deep = fc
  .tuple(fc.oneof(fc.integer({ min: 28, max: 34 }), fc.constantFrom(0, 900, 1000, 1600, 2500)), fc.boolean())
  .map(([levels, isArray]) => nested(levels, isArray));
const anyMetadata = fc.dictionary(text(50), fc.oneof(fc.jsonValue({ maxDepth: 4 }), deep), { maxKeys: 5 });

const amount = fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER });
const session = fc
  .record({
    amount,
    currency: known('USD', text(4)),
    order_id: text(130),
    description: maybe(words),
    success_url: maybe(fc.oneof(fc.webUrl({ withQueryParameters: true, withFragments: true }), words)),
    metadata: maybe(fc.dictionary(text(42), fc.oneof(words, fc.jsonValue()), { maxKeys: 52 })),
    expires_in: maybe(known(1800, fc.integer())),
    item: maybe(fc.record({ name: words, description: maybe(fc.option(words)) })),
  })
  .map(({ item, ...body }) => {
    const price_data = { currency: body.currency, unit_amount: body.amount, product_data: item };
    return item ? { ...body, line_items: [{ price_data }] } : body;
  });

const refund = fc.record({
  reason: maybe(known('duplicate', text(20))),
  description: maybe(words),
  amount: known('0.01', text(6)),
  currency: known('USDT', text(6)),
  metadata: maybe(fc.oneof(anyMetadata, fc.jsonValue())),
});

function accepts(read: () => unknown): boolean {
  try {
    read();
    return true;
  } catch (error) {
    if (error instanceof Refusal) return false;
    throw error;
  }
}

/** Asserts that the input was accepted with this status, or refused. @returns the answer if it was accepted */
function judge(answer: HttpAnswer, isAccepted: boolean, status: number): Answered | null {
  if (isAccepted) assert.is(answer.status, status, answer.text);
  else assert.ok(answer.status >= 400 && answer.status < 500, `${answer.status} ${answer.text}`);
  return isAccepted ? (answer.json as Answered) : null;
}

const asSent = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

test('every session that is accepted can be written', () =>
  fc.assert(
    fc.asyncProperty(session, async (body) => {
      const sent = { ...body, order_id: `${++names}${body.order_id}` } as Body;
      const isAccepted = accepts(() => readSessionInput(check(createSessionSchema, asSent(sent)), 'test'));
      const answer = await api.send('POST', '/api/v1/checkout/sessions/create', sent);
      // Whether a currency has a rate is checked after the body was read.
      if (answer.text.includes('unsupported_currency')) return;
      const shown = judge(answer, isAccepted, 200);
      if (!shown) return;
      assert.equal(shown.metadata, { order_id: sent.order_id, ...(sent.metadata as object) });
      const kept = await api.database().sessions.find(shown.id);
      assert.is(kept?.request.description, sent.description ?? null);
    }),
    replay,
  ));

test('every refund that is accepted can be written', async () => {
  const { id: order_id } = await paidSale(api, { amount: 100_00 });
  await fc.assert(
    fc.asyncProperty(refund, async (body) => {
      const sent = { ...body, order_id, refund_id: `r-${++names}` } as Body;
      const isAccepted = accepts(() => check(createRefundSchema, asSent(sent)));
      const answer = await api.send('POST', '/api/v1/refunds/create', sent);
      // The currency of the payment and the validity of the address are checked after the body was read.
      if (/INVALID_CURRENCY|REFUND_AMOUNT|refund_address/.test(answer.text)) return;
      const shown = judge(answer, isAccepted, 201);
      if (!shown) return;
      const { claim_url, ...metadata } = shown.metadata as { claim_url: string };
      assert.match(claim_url, /^https:/);
      assert.equal(metadata, asSent(sent.metadata ?? {}));
      assert.is(shown.description, sent.description);
    }),
    replay,
  );
});

test.after(() => api.close());
test.run();
