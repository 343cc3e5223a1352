/**
 * EVM payouts against a real node: what is quoted is signed by the family's own signer, and anvil executes it. Its USDT returns nothing and
 * can keep a fee; its USDC can be stopped, silenced and frozen. A block is final when four stand on it.
 */
import { Wallet as EthersWallet, Transaction } from 'ethers';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { openPayoutNode } from '../../../src/chains/evm/payout-node.ts';
import { evmSpending } from '../../../src/chains/evm/spend.ts';
import type {
  Fate,
  PayoutNode,
  PayoutNodeOptions,
  Quote,
  SentAttempt,
  SpendDraft,
  SpendNetwork,
  Terms,
} from '../../../src/chains/spend.ts';
import { Fault } from '../../../src/core/fault.ts';
import type { GasIntent, Intent, RefundIntent, SweepIntent, Wallet } from '../../../src/core/intent.ts';
import type { Currency, Token } from '../../../src/core/transfer.ts';
import { startAnvil } from '../../support/anvil.ts';
import { deployFeeToken, deployGuardedToken } from '../../support/contracts.ts';
import { startLyingProxy } from '../../support/lying-proxy.ts';

const CHAIN_ID = 31_337;
const FINAL_BLOCKS = 5;
const ETHER = 10n ** 18n;
const anvil = await startAnvil({ chainId: CHAIN_ID, slotsInAnEpoch: 2 });
const usdt = await deployFeeToken(anvil, { symbol: 'USDT', decimals: 6 });
const usdc = await deployGuardedToken(anvil, { symbol: 'USDC', decimals: 18 });
const contracts = { USDT: usdt, USDC: usdc };
const tokens: readonly Token[] = [
  { symbol: 'USDT', address: usdt.address, decimals: 6 },
  { symbol: 'USDC', address: usdc.address, decimals: 18 },
];
const network: SpendNetwork = {
  chainId: String(CHAIN_ID),
  tokens,
  treasury: '71'.repeat(20),
  feeUnitsMax: ETHER,
};

const options = (more: Partial<PayoutNodeOptions> = {}): PayoutNodeOptions => ({
  url: anvil.httpUrl,
  chainId: String(CHAIN_ID),
  tokens,
  finalDepth: 12,
  requestTimeoutMs: 10_000,
  responseBytesMax: 1_000_000,
  ...more,
});
const opened: PayoutNode[] = [];
const open = (more: Partial<PayoutNodeOptions> = {}): PayoutNode => {
  const node = openPayoutNode(options(more));
  opened.push(node);
  return node;
};
const node = open();
test.after(async () => {
  for (const one of opened) await one.close();
  await anvil.close();
});

// ── Wallets, intents and attempts ────────────────────────────────────────────────────────────────────────────────────

let seeds = 0;
let payees = 0;
const freshPayee = (): string => (++payees).toString(16).padStart(40, 'a');

/** A seed of its own for each test, so that sequence numbers start anew. */
function freshSeed(): Uint8Array {
  seeds += 1;
  return new Uint8Array(64).fill(seeds);
}

type Till = Readonly<{
  seed: Uint8Array;
  keyOf(wallet: Wallet): string;
  refund(currency: Currency, units: bigint, to?: string): RefundIntent;
  draft(intent: Intent): SpendDraft;
}>;

function openTill(): Till {
  const seed = freshSeed();
  const keyOf = (wallet: Wallet) => evmSpending.derive(seed, wallet).key;
  const tokenOf = (intent: Intent) =>
    intent.kind === 'gas' ? null : (tokens.find(({ symbol }) => symbol === intent.currency) ?? null);
  const ends = (intent: Intent): readonly [owner: string, to: string] => {
    if (intent.kind === 'refund') return [keyOf({ role: 'refund' }), intent.to];
    if (intent.kind === 'gas') return [keyOf({ role: 'gas' }), keyOf({ role: 'collection', index: intent.index })];
    return [keyOf({ role: 'collection', index: intent.from[0]?.index ?? 0 }), network.treasury];
  };
  return {
    seed,
    keyOf,
    refund: (currency, units, to = freshPayee()) => ({
      kind: 'refund',
      id: `rf_${payees}`,
      network: 'test:any',
      currency,
      to,
      units,
      mac: 'ab'.repeat(32),
    }),
    draft(intent) {
      const [owner, to] = ends(intent);
      return { intent, payer: owner, owners: [owner], to, token: tokenOf(intent) };
    },
  };
}

/** A till whose refund wallet holds an ether, 1000 USDT and 1000 USDC. */
async function openFundedTill(): Promise<Till> {
  const till = openTill();
  const refund = `0x${till.keyOf({ role: 'refund' })}`;
  await anvil.rpc('anvil_setBalance', [refund, `0x${ETHER.toString(16)}`]);
  await usdt.transfer(refund, 1_000_000_000n);
  await usdc.transfer(refund, 1_000n * ETHER);
  await anvil.mine();
  return till;
}

type Attempt = SentAttempt & Readonly<{ bytes: Uint8Array }>;

function quoted(quote: Quote): Extract<Quote, { kind: 'quoted' }> {
  if (quote.kind === 'quoted') return quote;
  throw new Error(`${quote.code}: ${quote.message}`);
}

function signOn(till: Till, intent: Intent, terms: Terms): Attempt {
  const keys = evmSpending.signers(intent).map((wallet) => evmSpending.derive(till.seed, wallet));
  const { tx, bytes } = evmSpending.sign({ network, intent, terms }, keys);
  return { tx, bytes, terms, payer: till.draft(intent).payer };
}

/** The next attempt, as the engine makes it: quoted on the wallet's number, signed, not sent. */
async function prepare(till: Till, intent: Intent, outbid: readonly Attempt[] = []): Promise<Attempt> {
  const draft = till.draft(intent);
  const first = outbid[0]?.terms.nonce;
  const nonce = first === undefined ? ((await node.sequence(draft.payer))?.head ?? 0) : Number(first);
  const { terms } = quoted(
    await node.quote(
      draft,
      nonce,
      outbid.map((one) => one.terms),
    ),
  );
  return signOn(till, intent, terms);
}

async function send(attempt: Attempt): Promise<void> {
  assert.equal(await node.broadcast(attempt.bytes), { kind: 'accepted' });
}

const fateOf = (till: Till, intent: Intent, attempts: readonly SentAttempt[], of: PayoutNode = node): Promise<Fate> =>
  of.fate(till.draft(intent), attempts);

async function finalFate(till: Till, intent: Intent, attempts: readonly SentAttempt[]): Promise<Fate> {
  await anvil.mine(FINAL_BLOCKS);
  return fateOf(till, intent, attempts);
}

const nothingYet: Fate = { kind: 'waiting', included: null };
const native = async (key: string) => BigInt(await anvil.rpc<string>('eth_getBalance', [`0x${key}`, 'latest']));

async function faultOf(work: Promise<unknown>): Promise<Fault> {
  try {
    await work;
  } catch (error) {
    if (error instanceof Fault) return error;
    throw error;
  }
  throw new Error('expected a fault');
}

// ── What goes well ───────────────────────────────────────────────────────────────────────────────────────────────────

for (const road of ['httpUrl', 'wsUrl'] as const) {
  for (const currency of ['USDT', 'USDC'] as const) {
    test(`a refund in ${currency} is quoted, sent, included and final, over ${road}`, async () => {
      const over = open({ url: anvil[road] });
      const till = await openFundedTill();
      const wallet = till.keyOf({ role: 'refund' });
      const intent = till.refund(currency, 12_345_678n);
      const draft = till.draft(intent);
      assert.equal(await over.sequence(wallet), { final: 0, head: 0 });
      const quote = quoted(await over.quote(draft, 0, []));
      assert.is(quote.terms.nonce, '0');
      assert.is(quote.feeUnitsMax, BigInt(quote.terms.gas_limit ?? 0) * BigInt(quote.terms.max_fee_per_gas ?? 0));
      assert.ok(quote.feeUnits <= quote.feeUnitsMax);
      const attempt = signOn(till, intent, quote.terms);

      assert.equal(await over.fate(draft, [attempt]), nothingYet, 'not sent');
      assert.equal(await over.broadcast(attempt.bytes), { kind: 'accepted' });
      assert.equal(await over.broadcast(attempt.bytes), { kind: 'known' });
      assert.equal(await over.fate(draft, [attempt]), nothingYet, 'not mined');
      const before = await native(wallet);
      await anvil.mine();
      const { number } = await anvil.head();
      assert.equal(await over.fate(draft, [attempt]), { kind: 'waiting', included: { tx: attempt.tx, number } });
      assert.equal(await over.sequence(wallet), { final: 0, head: 1 });
      assert.equal(await over.broadcast(attempt.bytes), { kind: 'known' }, 'mined');

      await anvil.mine(FINAL_BLOCKS);
      const feeUnits = before - (await native(wallet));
      assert.equal(await over.fate(draft, [attempt]), { kind: 'succeeded', tx: attempt.tx, number, feeUnits });
      assert.ok(feeUnits > 0n && feeUnits <= quote.feeUnitsMax);
      assert.is(await contracts[currency].balanceOf(`0x${intent.to}`), intent.units);
      assert.equal(await over.sequence(wallet), { final: 1, head: 1 });
      const held = await over.balance(wallet);
      assert.is(held.native, await native(wallet));
      assert.is(held.tokens[currency], await contracts[currency].balanceOf(`0x${wallet}`));
    });
  }
}

test('a collection address is given what its sweep lacks, and is swept to the treasury', async () => {
  const till = openTill();
  const [gasWallet, owner] = [till.keyOf({ role: 'gas' }), till.keyOf({ role: 'collection', index: 4 })];
  await anvil.rpc('anvil_setBalance', [`0x${gasWallet}`, `0x${ETHER.toString(16)}`]);
  await usdt.transfer(`0x${owner}`, 77_000_000n);
  await anvil.mine();
  const sweep: SweepIntent = {
    kind: 'sweep',
    id: 'sw_1',
    network: 'test:any',
    currency: 'USDT',
    from: [{ index: 4, units: 77_000_000n }],
  };
  const poor = await node.quote(till.draft(sweep), 0, []);
  if (poor.kind !== 'refused') throw new Error('a wallet without gas was quoted');
  assert.is(poor.code, 'native_short');
  assert.match(poor.message, owner);
  const units = poor.missingUnits ?? 0n;
  const gas: GasIntent = { kind: 'gas', id: 'gas_1', network: 'test:any', form: 'transfer', index: 4, units };
  const topUp = await prepare(till, gas);
  await send(topUp);
  await anvil.mine();
  assert.is(await native(owner), units);
  assert.is((await finalFate(till, gas, [topUp])).kind, 'succeeded');

  const before = await usdt.balanceOf(`0x${network.treasury}`);
  const attempt = await prepare(till, sweep);
  await send(attempt);
  await anvil.mine();
  assert.is((await finalFate(till, sweep, [attempt])).kind, 'succeeded');
  assert.is(await usdt.balanceOf(`0x${network.treasury}`), before + 77_000_000n);
  assert.is(await usdt.balanceOf(`0x${owner}`), 0n);
  const again = await node.quote(till.draft(sweep), 1, []);
  assert.is(again.kind === 'refused' && again.code, 'token_short');
});

test('sixteen refunds in flight have a number each and all arrive', async () => {
  const till = await openFundedTill();
  const intents = Array.from({ length: 16 }, (_, at) => till.refund('USDT', BigInt(at + 1)));
  const attempts: Attempt[] = [];
  for (const [nonce, intent] of intents.entries()) {
    const { terms } = quoted(await node.quote(till.draft(intent), nonce, []));
    attempts.push(signOn(till, intent, terms));
  }
  for (const attempt of [...attempts].reverse()) await send(attempt);
  await anvil.mine(2 + FINAL_BLOCKS);
  for (const [at, intent] of intents.entries()) {
    const [attempt] = attempts.slice(at);
    assert.is((await fateOf(till, intent, attempt ? [attempt] : [])).kind, 'succeeded');
    assert.is(await usdt.balanceOf(`0x${intent.to}`), intent.units);
  }
});

test('a fee that the token keeps does not make the refund unpaid', async () => {
  const till = await openFundedTill();
  const intent = till.refund('USDT', 1_000_000n);
  await usdt.setFee(20n, 50_000_000n);
  await anvil.mine();
  const attempt = await prepare(till, intent);
  await send(attempt);
  await anvil.mine();
  await usdt.setFee(0n, 0n);
  assert.is((await finalFate(till, intent, [attempt])).kind, 'succeeded');
  assert.is(await usdt.balanceOf(`0x${intent.to}`), 998_000n);
});

// ── What a quote refuses ─────────────────────────────────────────────────────────────────────────────────────────────

const refusal = async (till: Till, intent: Intent) => {
  const quote = await node.quote(till.draft(intent), 0, []);
  if (quote.kind !== 'refused') throw new Error('it was quoted');
  return quote;
};

test('too little of a token is refused with exactly what is missing', async () => {
  const till = await openFundedTill();
  const quote = await refusal(till, till.refund('USDT', 1_000_000_001n));
  assert.is(quote.code, 'token_short');
  assert.is(quote.missingUnits, 1n);
  assert.match(quote.message, '0.000001 USDT');
});

test('too little gas money is refused with exactly what is missing', async () => {
  const till = await openFundedTill();
  const intent = till.refund('USDC', 5n);
  const { feeUnitsMax } = quoted(await node.quote(till.draft(intent), 0, []));
  const wallet = `0x${till.keyOf({ role: 'refund' })}`;
  await anvil.rpc('anvil_setBalance', [wallet, `0x${(feeUnitsMax - 7n).toString(16)}`]);
  const quote = await refusal(till, intent);
  assert.is(quote.code, 'native_short');
  assert.is(quote.missingUnits, 7n);
  await anvil.rpc('anvil_setBalance', [wallet, `0x${feeUnitsMax.toString(16)}`]);
  const attempt = await prepare(till, intent);
  await send(attempt);
  await anvil.mine();
  assert.is((await finalFate(till, intent, [attempt])).kind, 'succeeded');
});

test('a gas wallet that is empty cannot give gas', async () => {
  const till = openTill();
  const units = 10n ** 15n;
  const intent: GasIntent = { kind: 'gas', id: 'g', network: 'test:any', form: 'transfer', index: 0, units };
  const quote = await refusal(till, intent);
  assert.is(quote.code, 'native_short');
  assert.is(quote.missingUnits, units);
});

test('a frozen payee is refused, by either issuer’s list', async () => {
  const till = await openFundedTill();
  for (const currency of ['USDT', 'USDC'] as const) {
    const intent = till.refund(currency, 5n);
    await contracts[currency].freeze(`0x${intent.to}`);
    await anvil.mine();
    const quote = await refusal(till, intent);
    assert.is(quote.code, 'destination_frozen');
    assert.match(quote.message, intent.to);
  }
});

test('a payee that is nobody’s wallet is refused', async () => {
  const till = await openFundedTill();
  const wrong = ['0'.repeat(40), usdt.address.slice(2).toLowerCase(), till.keyOf({ role: 'refund' })];
  for (const to of wrong) {
    const quote = await refusal(till, till.refund('USDC', 5n, to));
    assert.is(quote.code, 'destination_invalid');
  }
});

test('what would revert is refused with the reason, until it would not', async () => {
  const till = await openFundedTill();
  const intent = till.refund('USDC', 5n);
  await usdc.stop(true);
  await anvil.mine();
  const quote = await refusal(till, intent);
  assert.is(quote.code, 'would_fail');
  assert.match(quote.message, 'stopped');
  await usdc.stop(false);
  await anvil.mine();
  quoted(await node.quote(till.draft(intent), 0, []));
});

// ── Replacements ─────────────────────────────────────────────────────────────────────────────────────────────────────

const feesIn = (terms: Terms): bigint[] =>
  [terms.max_fee_per_gas, terms.max_priority_fee_per_gas].map((fee) => BigInt(fee ?? 0));

test('a replacement outbids every earlier attempt, is taken by the node, and is the one that is found', async () => {
  const till = await openFundedTill();
  const intent = till.refund('USDT', 9n);
  const attempts = [await prepare(till, intent)];
  for (const attempt of attempts) await send(attempt);
  for (let round = 0; round < 3; round++) {
    const next = await prepare(till, intent, [...attempts].reverse());
    for (const { terms } of attempts) {
      for (const [at, fee] of feesIn(terms).entries()) {
        assert.ok((feesIn(next.terms)[at] ?? 0n) * 8n >= fee * 9n, 'an eighth more');
      }
    }
    assert.is(next.terms.nonce, attempts[0]?.terms.nonce);
    await send(next);
    attempts.push(next);
  }
  await anvil.mine();
  const newest = attempts.at(-1);
  const fate = await finalFate(till, intent, attempts);
  assert.is(fate.kind === 'succeeded' && fate.tx, newest?.tx);
  assert.is(await usdt.balanceOf(`0x${intent.to}`), 9n);
});

test('an older attempt that was mined after all is found among all', async () => {
  const till = await openFundedTill();
  const intent = till.refund('USDC', 9n);
  const first = await prepare(till, intent);
  await send(first);
  const second = await prepare(till, intent, [first]);
  await anvil.mine();
  assert.equal(await node.broadcast(second.bytes), { kind: 'known' }, 'its number is used up');
  const fate = await finalFate(till, intent, [first, second]);
  assert.is(fate.kind === 'succeeded' && fate.tx, first.tx);
  assert.is(await usdc.balanceOf(`0x${intent.to}`), 9n);
});

test('a payee who empties their wallet in between does not make the refund fail', async () => {
  const till = await openFundedTill();
  const [payee = ''] = anvil.accounts.slice(5);
  await usdt.transfer(payee, 8n);
  await anvil.mine();
  const intent = till.refund('USDT', 5n, payee.slice(2).toLowerCase());
  const attempt = await prepare(till, intent);
  await usdt.transfer(anvil.accounts[0] ?? '', 8n, { from: payee });
  await anvil.mine();
  await send(attempt);
  await anvil.mine();
  assert.is((await finalFate(till, intent, [attempt])).kind, 'succeeded');
});

test('what the wallet cannot pay for is rejected by name', async () => {
  const till = await openFundedTill();
  const attempt = await prepare(till, till.refund('USDT', 9n));
  await anvil.rpc('anvil_setBalance', [`0x${till.keyOf({ role: 'refund' })}`, '0x1']);
  const answer = await node.broadcast(attempt.bytes);
  assert.is(answer.kind === 'rejected' && answer.code, 'native_short');
});

// ── What goes wrong on the chain ─────────────────────────────────────────────────────────────────────────────────────

test('a reverted transaction is failed once it is final, and its number is used up', async () => {
  const till = await openFundedTill();
  const wallet = till.keyOf({ role: 'refund' });
  const intent = till.refund('USDC', 5n);
  const attempt = await prepare(till, intent);
  await send(attempt);
  await usdc.stop(true, { feeWei: 10n ** 11n });
  const before = await native(wallet);
  await anvil.mine();
  const { number } = await anvil.head();
  assert.equal(await fateOf(till, intent, [attempt]), { kind: 'waiting', included: { tx: attempt.tx, number } });
  await usdc.stop(false);
  const feeUnits = before - (await native(wallet));
  assert.equal(await finalFate(till, intent, [attempt]), { kind: 'failed', tx: attempt.tx, number, feeUnits });
  assert.equal(await node.sequence(wallet), { final: 1, head: 1 });

  const anew = await prepare(till, intent);
  assert.is(anew.terms.nonce, '1');
  await send(anew);
  await anvil.mine();
  assert.is((await finalFate(till, intent, [anew])).kind, 'succeeded');
  assert.is(await usdc.balanceOf(`0x${intent.to}`), 5n);
});

test('a call that succeeded and moved nothing is neither paid nor failed: a person must look', async () => {
  const till = await openFundedTill();
  const intent = till.refund('USDC', 5n);
  const attempt = await prepare(till, intent);
  await usdc.silence(true);
  await anvil.mine();
  await send(attempt);
  await anvil.mine();
  await usdc.silence(false);
  const fault = await faultOf(finalFate(till, intent, [attempt]));
  assert.is(fault.code, 'payout_outcome_unclear');
  assert.is(fault.kind, 'transient');
  assert.match(fault.message, attempt.tx);
});

/** Something else that the wallet's key signs with a sequence number. */
async function spendElsewhere(till: Till, nonce: number): Promise<void> {
  const { secret } = evmSpending.derive(till.seed, { role: 'refund' });
  const thief = new EthersWallet(`0x${Buffer.from(secret).toString('hex')}`);
  const raw = await thief.signTransaction({
    type: 2,
    chainId: CHAIN_ID,
    nonce,
    to: `0x${'99'.repeat(20)}`,
    value: 1n,
    gasLimit: 21_000n,
    maxFeePerGas: 10n ** 11n,
    maxPriorityFeePerGas: 10n ** 10n,
  });
  await anvil.sendRaw(raw);
}

test('a number that something else used up is foreign, once that is final', async () => {
  const till = await openFundedTill();
  const intent = till.refund('USDT', 5n);
  const attempt = await prepare(till, intent);
  await spendElsewhere(till, 0);
  await anvil.mine();
  assert.equal(await node.broadcast(attempt.bytes), { kind: 'known' });
  assert.equal(await fateOf(till, intent, [attempt]), nothingYet, 'not final');
  const fate = await finalFate(till, intent, [attempt]);
  assert.is(fate.kind, 'foreign');
  assert.match(fate.kind === 'foreign' ? fate.message : '', till.keyOf({ role: 'refund' }));
});

test('a reorg takes an inclusion back; the same bytes are sent again and paid once', async () => {
  const till = await openFundedTill();
  const intent = till.refund('USDT', 31n);
  const attempt = await prepare(till, intent);
  await send(attempt);
  await anvil.mine(2);
  assert.is.not((await fateOf(till, intent, [attempt])) as unknown, nothingYet);
  await anvil.reorg(2);
  assert.equal(await fateOf(till, intent, [attempt]), nothingYet);
  await send(attempt);
  await anvil.mine();
  assert.is((await finalFate(till, intent, [attempt])).kind, 'succeeded');
  assert.is(await usdt.balanceOf(`0x${intent.to}`), 31n);
});

test('a reorg in which the other attempt is mined is followed', async () => {
  const till = await openFundedTill();
  const intent = till.refund('USDT', 32n);
  const first = await prepare(till, intent);
  const second = await prepare(till, intent, [first]);
  await send(first);
  await anvil.mine();
  const before = await fateOf(till, intent, [first, second]);
  assert.is(before.kind === 'waiting' && before.included?.tx, first.tx);
  await anvil.reorg(1);
  await send(second);
  await anvil.mine();
  const after = await fateOf(till, intent, [first, second]);
  assert.is(after.kind === 'waiting' && after.included?.tx, second.tx);
  const fate = await finalFate(till, intent, [first, second]);
  assert.is(fate.kind === 'succeeded' && fate.tx, second.tx);
  assert.is(await usdt.balanceOf(`0x${intent.to}`), 32n);
});

test('a foreign transaction that a reorg takes away was none', async () => {
  const till = await openFundedTill();
  const intent = till.refund('USDT', 33n);
  const attempt = await prepare(till, intent);
  await spendElsewhere(till, 0);
  await anvil.mine();
  await anvil.reorg(1);
  await send(attempt);
  await anvil.mine();
  assert.is((await finalFate(till, intent, [attempt])).kind, 'succeeded');
});

// ── Two nodes ────────────────────────────────────────────────────────────────────────────────────────────────────────

const proxy = await startLyingProxy(anvil);
test.before.each(() => proxy.heal());
test.after(() => proxy.close());
const paired = open({ witnessUrl: proxy.httpUrl });
/** The liar is the main node and the witness is honest. */
const pairedOther = open({ url: proxy.httpUrl, witnessUrl: anvil.httpUrl });

async function paid(): Promise<Readonly<{ till: Till; intent: RefundIntent; attempt: Attempt }>> {
  const till = await openFundedTill();
  const intent = till.refund('USDT', 5n);
  const attempt = await prepare(till, intent);
  await send(attempt);
  await anvil.mine(1 + FINAL_BLOCKS);
  return { till, intent, attempt };
}

const hidden: Parameters<typeof startLyingProxy> extends never ? never : NonNullable<typeof proxy.lies.answer> = (
  { method },
  answer,
) => (method === 'eth_getTransactionReceipt' ? { ...answer, result: null } : answer);

test('two nodes that agree settle it', async () => {
  const { till, intent, attempt } = await paid();
  assert.is((await fateOf(till, intent, [attempt], paired)).kind, 'succeeded');
});

test('a node that denies what another has seen makes nobody foreign', async () => {
  const { till, intent, attempt } = await paid();
  proxy.lies.answer = hidden;
  for (const pair of [paired, pairedOther]) {
    const fault = await faultOf(fateOf(till, intent, [attempt], pair));
    assert.is(fault.kind, 'transient');
    assert.is(fault.code, 'payout_nodes_disagree');
  }
});

test('a node that calls a success a failure settles nothing', async () => {
  const { till, intent, attempt } = await paid();
  proxy.lies.answer = ({ method }, answer) =>
    method === 'eth_getTransactionReceipt'
      ? { ...answer, result: { ...(answer.result as object), status: '0x0', logs: [] } }
      : answer;
  for (const pair of [paired, pairedOther]) {
    assert.is((await faultOf(fateOf(till, intent, [attempt], pair))).code, 'payout_nodes_disagree');
  }
});

test('a node whose finality is behind holds the outcome up', async () => {
  const { till, intent, attempt } = await paid();
  proxy.lies.answer = ({ method, params }, answer) =>
    method === 'eth_getBlockByNumber' && params[0] === 'finalized' ? { ...answer, result: null } : answer;
  for (const pair of [paired, pairedOther]) {
    const fate = await fateOf(till, intent, [attempt], pair);
    assert.is(fate.kind === 'waiting' && fate.included?.tx, attempt.tx);
  }
  await anvil.mine(12);
  assert.is((await fateOf(till, intent, [attempt], paired)).kind, 'succeeded', 'its depth is enough in the end');
});

test('both see what is foreign', async () => {
  const till = await openFundedTill();
  const intent = till.refund('USDT', 5n);
  const attempt = await prepare(till, intent);
  await spendElsewhere(till, 0);
  await anvil.mine(1 + FINAL_BLOCKS);
  assert.is((await fateOf(till, intent, [attempt], paired)).kind, 'foreign');
});

test('a witness that is silent, of another chain, or shows another block settles nothing', async () => {
  const { till, intent, attempt } = await paid();
  const lies: readonly (readonly [string, NonNullable<typeof proxy.lies.answer>])[] = [
    ['node_wrong_chain', ({ method }, answer) => (method === 'eth_chainId' ? { ...answer, result: '0x1' } : answer)],
    [
      'node_nonsense',
      ({ method }, answer) =>
        method === 'eth_getTransactionReceipt'
          ? { ...answer, result: { ...(answer.result as object), transactionHash: `0x${'12'.repeat(32)}` } }
          : answer,
    ],
    [
      'node_block_unknown',
      ({ method, params }, answer) =>
        method === 'eth_getBlockByNumber' && params[0] !== 'finalized' && params[0] !== 'latest'
          ? { ...answer, result: null }
          : answer,
    ],
  ];
  for (const [code, lie] of lies) {
    proxy.lies.answer = lie;
    assert.is((await faultOf(fateOf(till, intent, [attempt], paired))).code, code);
  }
  proxy.heal();
  proxy.lies.status = 503;
  assert.is((await faultOf(fateOf(till, intent, [attempt], paired))).kind, 'transient');
});

test('a receipt from a block that is not the chain’s own is no inclusion', async () => {
  const { till, intent, attempt } = await paid();
  proxy.lies.answer = ({ method }, answer) =>
    method === 'eth_getTransactionReceipt'
      ? { ...answer, result: { ...(answer.result as object), blockHash: `0x${'34'.repeat(32)}` } }
      : answer;
  const alone = open({ url: proxy.httpUrl });
  assert.equal(await fateOf(till, intent, [attempt], alone), nothingYet);
});

test('a node of another chain quotes nothing and tells no number', async () => {
  const till = await openFundedTill();
  const wrong = open({ chainId: '1' });
  const wallet = till.keyOf({ role: 'refund' });
  for (const work of [
    wrong.sequence(wallet),
    wrong.balance(wallet),
    wrong.quote(till.draft(till.refund('USDT', 1n)), 0, []),
  ]) {
    assert.is((await faultOf(work)).code, 'node_wrong_chain');
  }
});

test('bytes that ethers makes are told by the same id', async () => {
  const { attempt } = await paid();
  assert.is(Transaction.from(`0x${Buffer.from(attempt.bytes).toString('hex')}`).hash, attempt.tx);
});

test.run();
