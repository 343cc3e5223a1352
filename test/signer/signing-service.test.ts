/**
 * Orders that the signer signs and refuses, with its real journal on disk.
 */
import { Transaction } from 'ethers';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { evmSpending } from '../../src/chains/evm/spend.ts';
import type { Spending } from '../../src/chains/spend.ts';
import { createIntentMac, type Wallet } from '../../src/core/intent.ts';
import type { SignRequest } from '../../src/signer/protocol.ts';
import { column, has } from '../support/fields.ts';
import { gasIntent, sweepIntent } from '../support/intents.ts';
import { faultIn } from '../support/refusal.ts';
import {
  firstOf,
  newSigner,
  payer,
  policySettings,
  refundOf,
  removeSigners,
  returnOf,
  ruleOf,
  secretKey,
  seed,
  terms,
  treasury,
  usdt,
} from '../support/temp-signer.ts';

test.after(removeSigners);

const keyOf = (index: number) => evmSpending.derive(seed, { role: 'collection', index }).key;
const refundKey = evmSpending.derive(seed, { role: 'refund' }).key;
const gasKey = evmSpending.derive(seed, { role: 'gas' }).key;

test('a refund is signed by the refund wallet, to the payer, on the policy’s chain', () => {
  const { sign, journal } = newSigner();
  const { tx, bytes } = sign(firstOf(refundOf('rf_1', usdt(12.5)), 7));
  const signed = Transaction.from(`0x${Buffer.from(bytes).toString('hex')}`);
  assert.is(signed.hash, tx);
  assert.is(signed.from?.toLowerCase(), `0x${refundKey}`);
  has(signed, { chainId: 31337n, nonce: 7, to: policySettings.networks['test:one']?.tokens[0]?.address });
  assert.is(signed.data, `0xa9059cbb${payer.padStart(64, '0')}${usdt(12.5).toString(16).padStart(64, '0')}`);
  const [entry, ...others] = journal().entries('test:one', 0, 10);
  assert.equal(
    { tx: entry?.tx, intent: entry?.intent, terms: entry?.terms, length: others.length },
    { tx, intent: refundOf('rf_1', usdt(12.5)), terms: terms(7), length: 0 },
  );
});

test('a sweep goes to the treasury of the policy, and gas to an address of the seed', () => {
  const { sign, service } = newSigner();
  const sweep = sweepIntent({ from: [{ index: 3, units: 5n }] });
  const swept = Transaction.from(`0x${Buffer.from(sign(firstOf(sweep, 0)).bytes).toString('hex')}`);
  assert.is(swept.from?.toLowerCase(), `0x${keyOf(3)}`);
  assert.ok(swept.data.includes(treasury.slice(2).toLowerCase()));
  const gas = gasIntent({ index: 3, units: 10n ** 15n });
  const given = Transaction.from(`0x${Buffer.from(sign(firstOf(gas, 0)).bytes).toString('hex')}`);
  const [from, to] = [given.from?.toLowerCase(), given.to?.toLowerCase()];
  assert.equal({ from, to, value: given.value }, { from: `0x${gasKey}`, to: `0x${keyOf(3)}`, value: 10n ** 15n });
  assert.equal(service().addresses('test:one', [3, 0]), [keyOf(3), keyOf(0)]);
  const { refund, gas: gasWallet, treasury: sweptTo } = service().wallets('test:two');
  assert.equal(
    { refund, gasWallet, sweptTo },
    { refund: refundKey, gasWallet: gasKey, sweptTo: treasury.slice(2).toLowerCase() },
  );
});

test('the same attempt always gets the first bytes, whatever the rest of the request says', () => {
  const { sign, journal } = newSigner();
  const first = sign(firstOf(refundOf('rf_1', usdt(5)), 1));
  const others: Partial<SignRequest>[] = [
    {},
    { terms: terms(2) },
    { intent: refundOf('rf_1', usdt(6)) },
    { intent: refundOf('rf_1', usdt(5), { to: 'c'.repeat(40) }) },
    { intent: refundOf('rf_1', usdt(5), { mac: '0'.repeat(64) }) },
    { intent: refundOf('rf_1', usdt(5), { network: 'test:two' }) },
    { proof: 'dead' },
  ];
  for (const other of others) assert.equal(sign(firstOf(refundOf('rf_1', usdt(5)), 1, other)), first);
  assert.is(journal().entries('test:one', 0, 10).length, 1);
});

test('a return of held money is signed like a refund, counts against the same caps, and needs the same approvals', () => {
  const { sign, refusal, journal } = newSigner();
  sign(firstOf(returnOf('rt_1', usdt(5)), 1));
  const [entry] = journal().entries('test:one', 0, 10);
  assert.equal(entry?.intent, returnOf('rt_1', usdt(5)));
  assert.is(journal().usedSince('test:one', 'USDT', 0), usdt(5));
  const large = returnOf('rt_2', usdt(50_000));
  assert.is(refusal(firstOf(large, 2)), 'approval');
});

test('a generation out of order is refused with the number of the next one', () => {
  const { sign } = newSigner();
  const message = (generation: number) =>
    faultIn(() => sign(firstOf(refundOf('rf_1', usdt(5)), 1, { generation, proof: 'dead' }))).message;
  assert.match(message(3), 'generation 3 is out of order: the next one to sign is 0');
  sign(firstOf(refundOf('rf_1', usdt(5)), 1));
  assert.match(message(3), 'generation 3 is out of order: the next one to sign is 1');
});

/** The refund that was signed, and one that was not. */
const first = refundOf('rf_1', usdt(5));
const second = refundOf('rf_2', usdt(5));
const bound = refundOf('rf_2', usdt(5), { session: { id: 'cs_01', amount: '5.00' } });
const gas = gasIntent();
const twoOwners = sweepIntent({ from: [1, 2].map((index) => ({ index, units: 1n })) });
const given = returnOf('rt_2', usdt(5));
const again = { generation: 1, proof: 'dead' } as const;
const refusals: Readonly<Record<string, Readonly<Record<string, SignRequest>>>> = {
  intent: {
    'another amount in a new generation': firstOf(refundOf('rf_1', usdt(6)), 2, again),
    'another destination in a new generation': firstOf(refundOf('rf_1', usdt(5), { to: 'c'.repeat(40) }), 2, again),
    'another network in a new generation': firstOf(refundOf('rf_1', usdt(5), { network: 'test:two' }), 2, again),
    'a refund to the refund wallet itself': firstOf(refundOf('rf_2', usdt(5), { to: refundKey }), 2),
    'a refund to nobody': firstOf(refundOf('rf_2', usdt(5), { to: '0'.repeat(40) }), 2),
    'a sweep of two addresses where at most one is possible': firstOf(twoOwners, 0),
    'lent gas on a network without it': firstOf({ ...gas, form: 'delegate' }, 0),
  },
  generation: {
    'a generation without proof': firstOf(first, 2, { generation: 1 }),
    'a generation that skips one': firstOf(first, 2, { ...again, generation: 2 }),
    'a later generation of an unsigned intent': firstOf(second, 2, again),
    'a first generation with proof': firstOf(second, 2, { proof: 'failed' }),
  },
  nonce: {
    'a replacement with another number': firstOf(first, 2, { attempt: 1 }),
    'another refund on the same number': firstOf(second, 1),
    'a new generation on the old number': firstOf(first, 1, { generation: 1, proof: 'failed' }),
    'terms without a number': { ...firstOf(second, 2), terms: { gas_limit: '65000' } },
    'an invalid number': { ...firstOf(second, 2), terms: { ...terms(2), nonce: '0x2' } },
  },
  attempt: {
    'a replacement that skips one': firstOf(first, 1, { attempt: 2 }),
    'a replacement of an unsigned intent': firstOf(second, 2, { attempt: 1 }),
  },
  terms: {
    'terms with an unknown key': { ...firstOf(second, 2), terms: { ...terms(2), data: '0x' } },
    'a fee above fee_max': { ...firstOf(second, 2), terms: terms(2, 400) },
  },
  mac: {
    'a changed destination': firstOf({ ...second, to: 'c'.repeat(40) }, 2),
    'a changed amount': firstOf({ ...second, units: usdt(6) }, 2),
    'a changed id': firstOf({ ...second, id: 'rf_3' }, 2),
    'a changed network': firstOf({ ...second, network: 'test:two' }, 2),
    'another session': firstOf({ ...bound, session: { ...bound.session, id: 'cs_02' } }, 2),
    'another amount of the session': firstOf({ ...bound, session: { ...bound.session, amount: '0.01' } }, 2),
    'a MAC of another key': firstOf(refundOf('rf_2', usdt(5), { mac: 'a'.repeat(64) }), 2),
    'a return of another kind': firstOf({ ...given, held: 'short' }, 2),
    'a return of another session': firstOf({ ...given, session: { id: 'cs_2', amount: '5.00' } }, 2),
    'a refund with the MAC of a return': firstOf(refundOf('rt_2', usdt(5), { mac: given.mac }), 2),
  },
  policy: {
    'an unknown network': firstOf(refundOf('rf_2', usdt(5), { network: 'test:three' }), 2),
    'a token that the policy does not know': firstOf(refundOf('rf_2', usdt(5), { currency: 'USDC' }), 2),
  },
  cap: { 'too much gas at once': firstOf({ ...gas, units: 10n ** 16n + 1n }, 0) },
};

/** One signer for all of them, because what is refused changes nothing. */
const strict = newSigner();
strict.sign(firstOf(first, 1));

for (const [code, requests] of Object.entries(refusals)) {
  for (const [what, request] of Object.entries(requests)) {
    test(`refused: ${what}`, () => {
      const { refusal, journal } = strict;
      assert.is(refusal(request), code);
      assert.is(journal().entries('test:one', 0, 10).length, 1, 'nothing else was signed');
      assert.is(journal().entries('test:two', 0, 10).length, 0);
    });
  }
}

test('a family’s reason to refuse terms or an intent is passed on', () => {
  for (const request of [refusals.terms?.['terms with an unknown key'], refusals.intent?.['a refund to nobody']]) {
    assert.ok(request);
    const { message } = faultIn(() => strict.sign(request));
    assert.not.match(message, 'library refused');
  }
});

test('after a rotation of the secret key, a refund under way has a new MAC and is the same; the old MAC is refused', () => {
  const { sign, refusal, service, journal, restart } = newSigner();
  const signed = sign(firstOf(refundOf('rf_1', usdt(5)), 1));
  const newer = new Uint8Array(32).fill(6);
  restart({ key: newer });
  const refundBy = (id: string, key: Uint8Array) => {
    const refund = refundOf(id, usdt(5));
    return { ...refund, mac: createIntentMac(key)(refund) };
  };
  for (const refund of [refundBy('rf_2', secretKey), { ...refundBy('rf_2', newer), id: 'rf_3' }]) {
    assert.is(refusal(firstOf(refund, 2)), 'mac');
  }
  assert.equal(sign(firstOf(refundBy('rf_1', newer), 9, { fence: 2 })), signed);
  assert.is(service().fence('test:one'), 2);
  sign(firstOf(refundBy('rf_1', newer), 2, { fence: 2, generation: 1, proof: 'failed' }));
  assert.is(journal().entries('test:one', 0, 10).length, 2);
});

test('a replacement keeps the number of what it replaces; a new generation has a new one', () => {
  const { sign, refusal, journal } = newSigner();
  const refund = refundOf('rf_1', usdt(90));
  sign(firstOf(refund, 1));
  sign(firstOf(refund, 1, { attempt: 1, terms: terms(1, 30) }));
  sign(firstOf(refund, 2, { generation: 1, proof: 'failed' }));
  sign(firstOf(refund, 2, { generation: 1, attempt: 1, terms: terms(2, 30), proof: 'failed' }));
  assert.is(refusal(firstOf(refund, 1, { attempt: 2, terms: terms(1, 40) })), 'generation');
  const signed = journal().entries('test:one', 0, 10);
  assert.equal(column(signed, 'generation'), [0, 0, 1, 1]);
  assert.equal(column(signed, 'attempt'), [0, 1, 0, 1]);
  assert.is(journal().usedSince('test:one', 'USDT', 0), usdt(180), 'each generation counts, its replacement does not');
});

test('a transaction with a nonce is never dead: an engine that says so gets no second signature', () => {
  const { sign, refusal, journal } = newSigner();
  const refund = refundOf('rf_1', usdt(5));
  sign(firstOf(refund, 1));
  const again = (proof: 'dead' | 'failed') => refusal(firstOf(refund, 2, { generation: 1, proof }));
  assert.is(again('dead'), 'generation');
  assert.is(journal().entries('test:one', 0, 10).length, 1);
  assert.is(again('failed'), 'none');
});

test('a replacement must raise the fee, and one number gets at most eight transactions', () => {
  const { refusal, journal } = newSigner();
  const refund = refundOf('rf_1', usdt(5));
  const ask = (attempt: number, gwei: number) => refusal(firstOf(refund, 1, { attempt, terms: terms(1, gwei) }));
  assert.equal([ask(0, 20), ask(1, 20), ask(1, 19), ask(1, 21)], ['none', 'terms', 'terms', 'none']);
  for (let attempt = 2; attempt < 8; attempt++) assert.is(ask(attempt, 20 + attempt), 'none');
  assert.is(ask(8, 40), 'attempt');
  assert.is(journal().entries('test:one', 0, 20).length, 8);
  const feeOf = (gwei: number) => 65_000n * BigInt(gwei) * 10n ** 9n;
  assert.is(journal().usedSince('test:one', 'fee', 0), feeOf(27), 'only one of them can be mined');
});

test('only the highest fence is served, also after a restart', () => {
  const { sign, refusal, service, restart } = newSigner();
  const [known, next] = [refundOf('rf_1', usdt(5)), refundOf('rf_2', usdt(5))];
  const [of, raised] = [(fence: number) => ({ fence }), () => service().fence('test:one')];
  sign(firstOf(known, 1, of(4)));
  assert.is(raised(), 4);
  assert.is(refusal(firstOf(next, 2, of(3))), 'fence');
  assert.is(refusal(firstOf(known, 1, of(3))), 'fence', 'stored bytes too');
  assert.is(refusal(firstOf(refundOf('rf_2', usdt(5), { mac: '0'.repeat(64) }), 2, of(1_000_002))), 'mac');
  assert.is(refusal(firstOf(refundOf('rf_2', usdt(500)), 2, of(1_000_002))), 'approval');
  sign(firstOf(refundOf('rf_1', usdt(6)), 1, of(5)));
  sign(firstOf(refundOf('rf_1', usdt(5), { mac: '0'.repeat(64) }), 1, of(5)));
  assert.is(raised(), 4, 'nothing that was refused, or asked with other words, raises it');
  sign(firstOf(known, 1, of(5)));
  assert.is(refusal(firstOf(next, 2, of(4))), 'fence');
  assert.is(service().fence('test:two'), 0, 'each network has its own fences');
  assert.is(refusal(firstOf(next, 2, of(2 ** 40))), 'fence');
  restart();
  assert.is(raised(), 5);
  assert.is(refusal(firstOf(next, 2, of(4))), 'fence');
  sign(firstOf(next, 2, of(5)));
});

test('no key outlives the call that derived it, and only wallets that pay are derived once', () => {
  const derived: (Readonly<{ secret: Uint8Array }> & Wallet)[] = [];
  const watched: Spending = {
    ...evmSpending,
    derive(from, wallet) {
      const key = evmSpending.derive(from, wallet);
      derived.push({ ...wallet, secret: key.secret });
      return key;
    },
  };
  const { sign, refusal, service } = newSigner({ spendings: new Map([['evm', watched]]) });
  for (let n = 0; n < 2; n++) {
    service().wallets('test:one');
    service().addresses('test:one', [3]);
  }
  assert.equal(column(derived, 'role'), ['refund', 'gas', 'collection', 'collection']);
  sign(firstOf(refundOf('rf_1', usdt(5)), 1));
  const unpaid = refundOf('rf_2', usdt(5));
  assert.is(refusal({ ...firstOf(unpaid, 2), terms: terms(2, 400) }), 'terms');
  assert.is(derived.length, 6);
  for (const { role, secret } of derived) assert.equal(secret, new Uint8Array(secret.length), role);
});

test('a network that the policy lacks has no journal and no fence; a closed signer has no seed', () => {
  const { service } = newSigner();
  for (const call of [() => service().journal('test:three', 0, 10), () => service().fence('test:three')])
    assert.is(ruleOf(call), 'policy');
  service().close();
  const wiped = evmSpending.derive(new Uint8Array(64), { role: 'collection', index: 3 }).key;
  assert.equal(service().addresses('test:one', [3]), [wiped]);
});

test.run();
