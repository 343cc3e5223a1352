/** What the database keeps of the refund and gas wallets through a rotation, and of an installation from before. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { MoveIntent } from '../../../src/core/intent.ts';
import type { Database } from '../../../src/database/database.ts';
import { act, inWorld, T0_MS } from '../../conformance/database/place.ts';
import { openTempDatabase } from '../../support/temp-database.ts';
import { audit } from './audit.ts';

const network = 'test:one';
const makePlace = () => {
  const place = openTempDatabase();
  return { ...place, audit: () => audit(place.file) };
};
const balance = (key: string, isFormer = false) =>
  ({ network, role: 'refund', key, isFormer, units: { USDT: 5n }, low: [], readAtMs: T0_MS }) as const;
const shown = async (database: Database) => (await database.listBalances()).map(({ key, isFormer }) => [key, isFormer]);

test(
  'another wallet that pays raises an alarm and is in the audit log; the former one is kept',
  inWorld(makePlace, async ({ database }) => {
    await database.recordBalance(balance('a1'));
    assert.equal([await database.listAlarms(9), await database.listAudit(9)], [[], []]);
    await database.recordBalance(balance('a2'));
    await database.recordBalance(balance('a1', true));
    await database.recordBalance(balance('a2'));
    assert.equal(await shown(database), [
      ['a2', false],
      ['a1', true],
    ]);
    assert.equal(
      (await database.listAlarms(9)).map(({ code }) => code),
      ['wallet_rotated'],
    );
    const [entry, ...others] = await database.listAudit(9);
    assert.equal(
      [entry?.operator, entry?.command, entry?.target, entry?.before, entry?.after, others.length],
      ['quayside', 'wallet rotate', `${network} refund`, { wallet: 'a1' }, { wallet: 'a2' }, 0],
    );
    // A signer that was restored with an older policy.
    await database.recordBalance(balance('a1'));
    assert.equal((await shown(database))[0], ['a1', false]);
  }),
);

test(
  'a wallet that pays only after the next rotation freezes nothing for lack of numbers; one that has paid does',
  inWorld(makePlace, async ({ database, one }) => {
    one.chain.push({ ...one.child(), number: 300 });
    await one.readThrough(T0_MS / 1000);
    one.chain.pop();
    const wallets = (former: string, current: string, next: string) =>
      [
        { role: 'refund', key: current, standing: 'current' },
        { role: 'refund', key: former, standing: 'former' },
        { role: 'refund', key: next, standing: 'next' },
      ] as const;
    await database.recordOwnWallets(network, wallets('a1', 'a2', 'a3'));
    for (const key of ['a1', 'a2']) await database.offerNonce(network, key, 3, T0_MS);
    const skip = (from: number) =>
      database.skipBlocks({ network, from, to: from, isDryRun: false, act: act('networks skip') });
    await skip(110);
    assert.is(await database.findFreeze(network), null);
    await database.recordOwnWallets(network, wallets('a2', 'a3', 'a4'));
    assert.is((await database.listOwnWallets(network)).length, 4);
    await skip(120);
    assert.is((await database.findFreeze(network))?.code, 'blocks_unsearched');
  }),
);

const move: MoveIntent = {
  ...{ kind: 'move', id: 'mv_1', network, role: 'refund', fromIndex: 0, toIndex: 1 },
  ...{ currency: null, units: 7n },
};
test(
  'moves are planned with the operator’s name, and change nothing in the books',
  inWorld(makePlace, async ({ database }) => {
    await database.planMoves([move], act('wallet empty'));
    const [payout] = await database.listPayouts({ kind: 'move', limit: 9 });
    assert.equal([payout?.intent, payout?.state], [move, 'waiting']);
    const [entry] = await database.listAudit(1);
    assert.equal([entry?.command, entry?.target, entry?.after?.units], ['wallet empty', 'mv_1', '7']);
    const attempt = { id: 'mv_1', generation: 0, attempt: 0, payer: 'a1', payerRole: 'refund', nonce: null } as const;
    const terms = { intent: move, terms: {}, feeUnitsMax: 9n, nowMs: T0_MS };
    assert.is((await database.allotAttempt({ ...attempt, ...terms })).kind, 'allotted');
    const signature = { id: 1, intent: move, generation: 0, attempt: 0, terms: {}, tx: 't1', signedAtMs: T0_MS };
    await database.recordSigned(network, [{ ...signature, bytes: new Uint8Array([1]) }]);
    const ended = { tx: 't1', feeUnits: 2n };
    await database.settlePayout({ id: 'mv_1', generation: 0, outcome: { kind: 'succeeded', ended }, nowMs: T0_MS });
    const { balances, differences, unbalanced } = await database.verifyLedger();
    assert.equal([differences, unbalanced], [[], []]);
    assert.equal(
      balances.map(({ account, asset, units }) => [account, asset, units]),
      [
        ['fees', 'native', 2n],
        ['hot', 'native', -2n],
      ],
    );
  }),
);

test.run();
