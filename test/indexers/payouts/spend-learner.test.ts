/** How what used numbers of our wallets is learned: in order, how often the nodes are asked, and after the journal. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createSpendLearner } from '../../../indexers/payouts/spend-learner.ts';
import type { SpendDraft } from '../../../src/chains/spend.ts';
import { Fault, permanent, transient } from '../../../src/core/fault.ts';
import { openLog } from '../../../src/lib/log.ts';
import { handClock } from '../../support/hand-clock.ts';

const network = 'test:one';

test('the nodes are asked for what used a number until they show it, and not again while nothing explains it', async () => {
  const asked: (string | undefined)[] = [];
  const learner = createSpendLearner({
    network: { key: network, family: 'evm', mode: 'test' },
    node: {
      async usedBy(_payer, _nonce, after) {
        asked.push(after);
        return asked.length < 3 ? null : { tx: 't2', tokens: [], native: null };
      },
      readTransfer: async () => null,
      paidBy: async () => null,
      failedBy: async () => null,
    },
    database: {
      nextNonce: async () => ({ nonce: 7, unsignedNonce: 7, lastTx: 't1' }),
      recordLearned: async () => false,
      recordFailed: async () => false,
      refundsBehind: async () => [],
      recordOutgoing: async () => {},
      depositIndex: async () => 0,
    },
    wallets: {
      own: async () => ({ refund: 'aa', gas: 'bb', treasury: 'cc', former: [], feeUnitsMax: 1n }),
      find: async () => null,
      draft: () => Promise.reject(new Error('nothing is known of it')),
    },
    followJournal: async () => {},
    clock: handClock(),
    log: openLog('test', 'silent'),
  });
  for (let n = 0; n < 8; n++) await learner.learnNumbers('aa', 8);
  assert.equal(asked, ['t1', 't1', 't1']);
});

test('numbers beyond the first 200 are learned in the next passes, and none after one that nothing explains', async () => {
  const learned: number[] = [];
  let strange = Number.POSITIVE_INFINITY;
  const learner = createSpendLearner({
    network: { key: network, family: 'evm', mode: 'test' },
    node: {
      usedBy: async (_payer, nonce) => ({ tx: `t${nonce}`, tokens: [], native: { to: 'bb', units: 5n } }),
      async readTransfer(_payer, _treasury, tx) {
        if (Number(tx.slice(1)) >= strange) return 'other';
        return { tx, currency: null, to: 'bb', owners: [{ key: 'aa', units: 5n }], feeUnitsMax: 1n };
      },
      paidBy: async (_draft, tx) => ({ feeUnits: 1n, nonce: Number(tx.slice(1)) }),
      failedBy: async () => null,
    },
    database: {
      async nextNonce() {
        const nonce = 7 + learned.length;
        return { nonce, unsignedNonce: nonce, lastTx: null };
      },
      recordLearned: async ({ tx }) => learned.push(Number(tx.slice(1))) > 0,
      recordFailed: async () => false,
      refundsBehind: async () => [],
      recordOutgoing: async () => {},
      depositIndex: async () => 0,
    },
    wallets: {
      own: async () => ({ refund: 'cc', gas: 'aa', treasury: 'dd', former: [], feeUnitsMax: 1n }),
      find: async (key) => (key === 'aa' ? { role: 'gas', index: 0 } : null),
      draft: async () => ({ to: 'bb', owners: ['aa'] }) as unknown as SpendDraft,
    },
    followJournal: async () => {},
    clock: handClock(),
    log: openLog('test', 'silent'),
  });
  const counts: (boolean | number)[] = [];
  for (let pass = 0; pass < 3; pass++) counts.push(await learner.learnNumbers('aa', 457), learned.length);
  assert.equal(counts, [true, 200, true, 400, false, 450]);
  assert.equal(
    learned,
    Array.from({ length: 450 }, (_, at) => 7 + at),
  );
  strange = 500;
  assert.is(await learner.learnNumbers('aa', 900), false, 'the wallet halts at it, and payouts do not wait for it');
});

test('what the signer’s journal may name is not learned before the journal was read', async () => {
  const learned: string[] = [];
  const faults = [transient('signer_unreachable', 'no answer'), permanent('payouts_not_adopted', 'another engine')];
  const transfer = { tx: 't2', currency: null, to: 'bb', owners: [{ key: 'aa', units: 5n }], feeUnitsMax: 1n };
  const learner = createSpendLearner({
    network: { key: network, family: 'evm', mode: 'test' },
    node: {
      usedBy: async () => ({ tx: 't2', tokens: [], native: { to: 'bb', units: 5n } }),
      readTransfer: async () => transfer,
      paidBy: async () => ({ feeUnits: 1n, nonce: 7 }),
      failedBy: async () => null,
    },
    database: {
      nextNonce: async () => ({ nonce: 7, unsignedNonce: 7, lastTx: 't1' }),
      recordLearned: async ({ tx }) => learned.push(tx) > 0,
      recordFailed: async () => false,
      refundsBehind: async () => [],
      recordOutgoing: async () => {},
      depositIndex: async () => 0,
    },
    wallets: {
      own: async () => ({ refund: 'cc', gas: 'aa', treasury: 'dd', former: [], feeUnitsMax: 1n }),
      find: async (key) => (key === 'aa' ? { role: 'gas', index: 0 } : null),
      draft: async () => ({ to: 'bb', owners: ['aa'] }) as unknown as SpendDraft,
    },
    async followJournal() {
      const fault = faults.shift();
      if (fault) throw fault;
    },
    clock: handClock(),
    log: openLog('test', 'silent'),
  });
  await learner.learnNumbers('aa', 8);
  assert.equal(learned, [], 'the signer is asked again');
  const code = await learner.learnNumbers('aa', 8).then(
    () => null,
    (error: unknown) => error instanceof Fault && error.code,
  );
  assert.equal([code, learned], ['payouts_not_adopted', []]);
  await learner.learnNumbers('aa', 8);
  assert.equal(learned, ['t2']);
});

test.run();
