/** A long journal is adopted page by page; the database's adoption suite has a command that was killed in between. */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { adoptPayouts } from '../../../indexers/payouts/journal.ts';
import { chains } from '../../../src/chains/index.ts';
import type { JournalPart } from '../../../src/database/payouts/engines.ts';
import type { JournalEntry } from '../../../src/signer/protocol.ts';
import { refundIntent } from '../../support/intents.ts';

const network = 'test:ethereum';
const { spendRules: rules } = chains.evm;
const nowMs = 1_800_000_000_000;
const FENCE = 7;

const entry = (id: number): JournalEntry => ({
  id,
  intent: refundIntent({ id: `rf_${id}`, network, to: 'b'.repeat(40) }),
  generation: 0,
  attempt: 0,
  terms: { nonce: String(id - 1) },
  tx: `tx ${id}`,
  bytes: new Uint8Array([1]),
  signedAtMs: nowMs,
  payer: 'd'.repeat(40),
});

/** A signer with `count` signatures, and a database that remembers the parts that it is given. */
function openScene(count: number) {
  const parts: JournalPart[] = [];
  const progress: number[] = [];
  const run = () =>
    adoptPayouts({
      network,
      rules,
      signer: {
        fence: async () => FENCE,
        journal: async (_, after, limit) =>
          Array.from({ length: Math.max(0, Math.min(limit, count - after)) }, (_, n) => entry(after + n + 1)),
      },
      payouts: {
        async adopt(_, part) {
          parts.push(part);
          return part.signatures.length;
        },
      },
      nowMs,
      onProgress: (signatures) => progress.push(signatures),
    });
  const brief = () =>
    parts.map(({ signatures, isContinued, servedFence }) => [signatures.length, isContinued ?? false, servedFence]);
  return { run, brief, progress };
}

const test = suite('adopt payouts');

test('a long journal is saved a hundred signatures at a time, and the fence is raised with the last', async () => {
  const { run, brief, progress } = openScene(250);
  assert.equal(await run(), { signatures: 250, added: 250 });
  assert.equal(brief(), [
    [100, false, null],
    [100, true, null],
    [50, true, FENCE],
  ]);
  assert.equal(progress, [100, 200, 250]);
});

test('a journal that ends with a full page, and an empty one, have one last part', async () => {
  const full = openScene(200);
  await full.run();
  assert.equal(full.brief(), [
    [100, false, null],
    [100, true, FENCE],
  ]);
  const empty = openScene(0);
  assert.equal(await empty.run(), { signatures: 0, added: 0 });
  assert.equal(empty.brief(), [[0, false, FENCE]]);
});

test.run();
