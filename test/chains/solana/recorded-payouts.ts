import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { readRefusal } from '../../../src/chains/solana/broadcast-refusal.ts';
import { type Broadcast, type SpendDraft, UnclearOutcome } from '../../../src/chains/spend.ts';
import { isRefused } from '../../../src/core/spend.ts';
import { has } from '../../support/fields.ts';
import { refundIntent } from '../../support/intents.ts';
import type { Recording } from '../../support/recordings.ts';
import { faultOf } from '../../support/refusal.ts';
import {
  key,
  node,
  paidBlock,
  payee,
  payer,
  payouts,
  readsEach,
  recording,
  replay,
  resultOf,
  solanaRpc,
  usdt,
} from './recordings-bench.ts';

// ── Payouts ──────────────────────────────────────────────────────────────────────────────────────────────────────────

/** A refund of one unit by the wallet that was paid. */
const draftTo = (to: string): SpendDraft => ({
  intent: refundIntent({ network: 'test:solana', to, units: 1n }),
  payer: key(payee),
  owners: [key(payee)],
  to,
  token: usdt,
  lock: 'ab'.repeat(32),
});

/** The last one also answers for the lock's single byte, which was not asked when these were recorded. */
const rents = ['getMinimumBalanceForRentExemption.165', 'getMinimumBalanceForRentExemption.0'];
test('a quote, from recorded deposits, fees, balances and block hashes', async () => {
  for (const hash of ['getLatestBlockhash.confirmed', 'getLatestBlockhash.finalized']) {
    replay.play('getGenesisHash', ...rents, hash, 'getRecentPrioritizationFees');
    // The payee holds more than 2^53 lamports, and has no token account among the recordings.
    const quote = await payouts.quote(draftTo(key(payer)), null, []);
    const needed = 5_000n + 890_880n + 2_039_280n + 890_880n;
    assert.is(isRefused(quote) && quote.refused, 'native_short');
    const missing = needed - BigInt(resultOf('getBalance').value);
    assert.is(isRefused(quote) && quote.missing?.units, missing);
  }
});

const recordedBytes = ({ params }: Recording): Buffer => Buffer.from(String(params[0]), 'base64');
readsEach(
  {
    'sendTransaction.ok': 'accepted',
    'sendTransaction.again': 'known',
    'sendTransaction.again.no-preflight': 'accepted',
    'sendTransaction.base58': 'known',
    'sendTransaction.trailing': 'known',
    'sendTransaction.expired.no-preflight': 'accepted',
    'sendTransaction.signature.no-preflight': 'accepted',
    'sendTransaction.again.expired': 'blockhash_not_found',
    'sendTransaction.blockhash': 'blockhash_not_found',
    'sendTransaction.expired': 'blockhash_not_found',
    'sendTransaction.signature': 'signature_wrong',
    'sendTransaction.lock': 'account_in_use',
    'sendTransaction.token-short': 'token_short',
    'sendTransaction.lamports-short': 'native_short',
    'sendTransaction.no-payer': 'native_short',
    'sendTransaction.rent': 'native_short',
    'sendTransaction.rent.other': 'rent_short',
    'sendTransaction.frozen': 'account_frozen',
    'sendTransaction.other-mint': 'token_mismatch',
    'sendTransaction.decimals': 'token_mismatch',
    'sendTransaction.no-account': 'instruction_failed',
    'sendTransaction.compute': 'compute_exceeded',
    'sendTransaction.base64': 'error_-32602',
    'sendTransaction.duplicate-account': 'error_-32602',
    'sendTransaction.empty': 'error_-32602',
    'sendTransaction.too-large': 'error_-32602',
    'sendTransaction.truncated': 'error_-32602',
  },
  'what a node says to a payout, by the name in its data, and by its words where a gateway drops the data',
  async (one, expected) => {
    replay.play(one.name);
    const said = await payouts.broadcast(recordedBytes(one));
    const codeOf = (answer: Broadcast) => (answer.kind === 'rejected' ? answer.code : answer.kind);
    assert.is(codeOf(said), expected);
    const { error } = JSON.parse(one.text);
    if (!error) return;
    const { code, message } = error;
    assert.is(codeOf(readRefusal({ code, message }, recordedBytes(one))), expected, 'by its words');
    // Words may change; the name does not.
    if (error.data) assert.is(codeOf(readRefusal({ ...error, message: 'other words' }, recordedBytes(one))), expected);
  },
);

test('a node that is behind refuses nothing', async () => {
  const behind = recording('sendTransaction.min-context');
  replay.play(behind.name);
  has(await faultOf(payouts.broadcast(recordedBytes(behind))), { kind: 'transient', code: 'node_unhealthy' });
  const short = recording('sendTransaction.token-short');
  replay.play(short.name);
  const said = await payouts.broadcast(recordedBytes(short));
  assert.match(said.kind === 'rejected' ? said.message : '', /Instruction 1: custom .* \(in the token transfer\)$/);
});

const heights = ['getBlockHeight.finalized', 'getBlockHeight.confirmed', 'getBlockHeight.processed'];
test('the height of the newest block, at each commitment', async () => {
  const found = [];
  for (const name of heights) {
    replay.play(name);
    found.push(await solanaRpc.whole('getBlockHeight', []));
  }
  assert.equal(found, [6, 37, 37]);
});

// ── Transactions ─────────────────────────────────────────────────────────────────────────────────────────────────────

/** Asks what became of the transactions whose statuses were recorded, had they been attempts of one payout. */
async function outcomeOf(name: string, height: string, transaction: string, draft = draftTo(key(payee))) {
  replay.play('getGenesisHash', height, name, transaction);
  const txs = recording(name).params[0] as string[];
  const attempts = txs.map((tx) => ({ tx, terms: { last_valid_block_height: '20' }, payer: key(payer) }));
  return payouts.outcome(draft, attempts);
}

test('statuses: unknown, included, failed and final', async () => {
  const statuses = 'getSignatureStatuses';
  const waiting = { kind: 'waiting', included: null };
  assert.equal(await outcomeOf(`${statuses}.just-sent`, 'getBlockHeight.finalized', 'getTransaction.null'), waiting);
  assert.equal(await outcomeOf(`${statuses}.just-sent`, 'getBlockHeight.confirmed', 'getTransaction.null'), {
    kind: 'dead',
  });
  for (const name of [`${statuses}.confirmed`, `${statuses}.finalized`]) {
    // It pays another amount than the draft says.
    const fault = await faultOf(outcomeOf(name, 'getBlockHeight.finalized', 'getTransaction.plain'));
    assert.is(fault.code, 'payout_outcome_unclear', fault.message);
    assert.ok(fault instanceof UnclearOutcome);
    assert.is(fault.feeUnits, 5_000n, 'it had its cost');
  }
  const intent = { ...draftTo(key(payee)).intent, units: 10_000_000n } as SpendDraft['intent'];
  const paid: SpendDraft = { ...draftTo(key(payee)), intent, payer: key(payer), owners: [key(payer)] };
  const heights = 'getBlockHeight.finalized';
  // Exact to the lamport, although the payer's balance has more digits than a float.
  assert.equal(await outcomeOf(`${statuses}.finalized`, heights, 'getTransaction.plain', paid), {
    kind: 'succeeded',
    tx: '5DAXmbwnWexttnPb2TyKycG26Xx4kfHL3dr5mQWi67ieD3PoD7DF9iHqDd45JZbXrsiRDu2fMMsaLA5dEW5AvBxD',
    number: 6,
    feeUnits: 5_000n,
  });
  const lost = await faultOf(outcomeOf(`${statuses}.expired`, 'getBlockHeight.finalized', 'hole.getTransaction'));
  assert.is(lost.code, 'node_inconsistent');
  replay.play('getBlock.none', `${statuses}.confirmed`);
  const txs = recording(`${statuses}.confirmed`).params[0] as string[];
  assert.is(await node.attest(paidBlock, txs), 'gone', 'the second of them failed');
});
