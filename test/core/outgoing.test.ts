import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { Intent } from '../../src/core/intent.ts';
import { type Claimant, explainOutgoing, type OutgoingTransfer } from '../../src/core/outgoing.ts';
import type { PayoutState } from '../../src/core/payout.ts';

const network = 'test:one';
const transfer: OutgoingTransfer = {
  network,
  role: 'refund',
  tx: 't1',
  index: 0,
  currency: 'USDT',
  from: 'aa',
  to: 'bb',
  units: 5n,
  blockNumber: 9,
};
const refund = {
  kind: 'refund',
  session: { id: 'cs_1', amount: '5.00' },
  id: 'r1',
  network,
  currency: 'USDT',
  to: 'bb',
  units: 5n,
  mac: '',
} as const;

const claimant = (
  state: PayoutState,
  { intent = refund, isSigned = false, code, createdAtMs = 1 }: Partial<ReturnType<typeof parts>> = {},
): Claimant => ({
  payout: { id: intent.id, network, intent, state, wait: code ? { code, message: code } : null, createdAtMs },
  isSigned,
});
const parts = () => ({ intent: refund as Intent, isSigned: false, code: '' as string | undefined, createdAtMs: 1 });
const judge = (...claimants: Claimant[]) => explainOutgoing(transfer, null, claimants, false);

test('a transfer of a known attempt is ours, whatever else it might pay', () => {
  assert.equal(explainOutgoing(transfer, 'r9', [claimant('waiting')], true), { kind: 'ours', payoutId: 'r9' });
});

test('without an attempt and without a refund that it pays, a transfer is foreign', () => {
  assert.equal(judge(), { kind: 'foreign' });
});

test('the treasury may spend what it likes', () => {
  assert.equal(explainOutgoing({ ...transfer, role: 'treasury' }, null, [], true), { kind: 'recorded' });
});

test('what went to another wallet of ours is recorded, and freezes nothing', () => {
  assert.equal(explainOutgoing(transfer, null, [], false, true), { kind: 'recorded' });
  assert.equal(explainOutgoing({ ...transfer, role: 'gas' }, null, [], false, true), { kind: 'recorded' });
  const coins = { ...transfer, role: 'gas', currency: 'native' } as const;
  assert.equal(explainOutgoing(coins, null, [], false, true), { kind: 'recorded' });
  assert.equal(explainOutgoing(coins, null, [], false), { kind: 'foreign' });
  assert.equal(explainOutgoing(transfer, 'r9', [], false, true), { kind: 'ours', payoutId: 'r9' });
});

test('a refund whose payee is a wallet of ours is not paid again for that', () => {
  assert.equal(explainOutgoing(transfer, null, [claimant('waiting')], false, true), { kind: 'pays', payoutId: 'r1' });
  assert.equal(explainOutgoing(transfer, null, [], true, true), { kind: 'undecided' });
});

test('a transfer pays a refund only if network, payee, currency and amount are the same', () => {
  assert.equal(judge(claimant('waiting')), { kind: 'pays', payoutId: 'r1' });
  const others: Intent[] = [
    { ...refund, units: 4n },
    { ...refund, to: 'cc' },
    { ...refund, currency: 'USDC' },
    { ...refund, network: 'test:two' },
    { kind: 'gas', id: 'g', network, form: 'transfer', index: 0, units: 5n },
    { kind: 'sweep', id: 's', network, currency: 'USDT', from: [{ index: 0, units: 5n }] },
  ];
  for (const intent of others) assert.equal(judge(claimant('waiting', { intent })), { kind: 'foreign' }, intent.kind);
});

test('the gas wallet pays no refund', () => {
  assert.equal(explainOutgoing({ ...transfer, role: 'gas' }, null, [claimant('waiting')], false), { kind: 'foreign' });
});

test('a refund is settled only if nothing known of it can still take effect', () => {
  const settled = { kind: 'pays', payoutId: 'r1' };
  const undecided = { kind: 'undecided' };
  assert.equal(judge(claimant('sent')), settled);
  assert.equal(judge(claimant('sent', { isSigned: true })), undecided);
  assert.equal(judge(claimant('stuck')), settled);
  assert.equal(judge(claimant('stuck', { isSigned: true, code: 'payout_nonce_foreign' })), settled);
  assert.equal(judge(claimant('stuck', { isSigned: true, code: 'payout_generations' })), settled);
  assert.equal(judge(claimant('stuck', { isSigned: true, code: 'payout_bytes_differ' })), undecided);
});

test('a transfer that a refund without a payout is to pay is judged later', () => {
  assert.equal(explainOutgoing(transfer, null, [], true), { kind: 'undecided' });
});

test('of several equal refunds it pays the oldest that may be settled', () => {
  const equal = (id: string, createdAtMs: number, state: PayoutState, isSigned = false) =>
    claimant(state, { intent: { ...refund, id }, createdAtMs, isSigned });
  assert.equal(judge(equal('r3', 3, 'waiting'), equal('r2', 2, 'waiting'), equal('r1', 1, 'sent', true)), {
    kind: 'pays',
    payoutId: 'r2',
  });
  assert.equal(judge(equal('r5', 2, 'waiting'), equal('r4', 2, 'waiting')), { kind: 'pays', payoutId: 'r4' });
});

test.run();
