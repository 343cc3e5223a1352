import { pbkdf2Sync } from 'node:crypto';
import { HDNodeWallet, Transaction, type TransactionLike } from 'ethers';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { evmSpending } from '../../../src/chains/evm/spend.ts';
import { chains } from '../../../src/chains/index.ts';
import type { Intent, RefundIntent, Wallet } from '../../../src/core/intent.ts';
import type { Terms } from '../../../src/core/spend.ts';
import { runSpendConformance } from '../../conformance/spend.ts';
import { has } from '../../support/fields.ts';
import { refundIntent } from '../../support/intents.ts';
import { spendOn } from '../../support/preset.ts';
import { faultIn } from '../../support/refusal.ts';

const mnemonic = 'test test test test test test test test test test test junk';
const seed = new Uint8Array(pbkdf2Sync(mnemonic, 'mnemonic', 2048, 64, 'sha512'));

const network = spendOn('ethereum', '71'.repeat(20), 10n ** 17n);
const elsewhere = spendOn('bsc', '72'.repeat(20), 10n ** 17n);

const terms = (_intent: Intent, variant = 0): Terms => ({
  nonce: String(variant),
  gas_limit: '80000',
  max_fee_per_gas: '30000000000',
  max_priority_fee_per_gas: '1000000000',
});

const refund: RefundIntent = refundIntent({
  id: 'rf_00000000000000000000000001',
  network: 'live:ethereum',
  to: '70997970c51812dc3a010c7d01b50e0d17dc79c8',
  units: 10_500_000n,
});
const refundKey = evmSpending.derive(seed, { role: 'refund' });

/** A transaction as ethers' own wallet signs it, with the refund wallet's key unless another path is named. */
async function signedByEthers(changes: TransactionLike, wallet: Wallet = { role: 'refund' }): Promise<Uint8Array> {
  const holder = HDNodeWallet.fromSeed(seed).derivePath(evmSpending.path(wallet));
  const plain = Transaction.from(Buffer.from(sign().bytes).toString('hex').replace(/^/, '0x'));
  const { to, data, value, nonce, chainId, gasLimit, maxFeePerGas, maxPriorityFeePerGas } = plain;
  const base = { type: 2, to, data, value, nonce, chainId, gasLimit, maxFeePerGas, maxPriorityFeePerGas };
  const transaction = Transaction.from({ ...base, ...changes } as TransactionLike<string>);
  transaction.signature = holder.signingKey.sign(transaction.unsignedHash);
  return Buffer.from(transaction.serialized.slice(2), 'hex');
}

const sign = (intent: Intent = refund, on = network) =>
  evmSpending.sign(
    { network: on, intent, terms: terms(intent) },
    evmSpending.signers(intent).map((wallet) => evmSpending.derive(seed, wallet)),
  );

function refusalOf(bytes: Uint8Array): string {
  const fault = faultIn(() => evmSpending.read(bytes, network));
  has(fault, { code: 'spend_bytes_unknown', kind: 'permanent' });
  return fault.message;
}

test('the wallets are those that ethers derives, at the documented paths', () => {
  const root = HDNodeWallet.fromSeed(seed);
  const paths: readonly (readonly [Wallet, string])[] = [
    [{ role: 'collection', index: 0 }, "m/44'/60'/0'/0/0"],
    [{ role: 'collection', index: 4_711 }, "m/44'/60'/0'/0/4711"],
    [{ role: 'refund' }, "m/44'/60'/1000'/0/0"],
    [{ role: 'gas' }, "m/44'/60'/1000'/0/1"],
    [{ role: 'gas', index: 1 }, "m/44'/60'/1000'/0/3"],
  ];
  for (const [wallet, path] of paths) {
    const { key, secret } = evmSpending.derive(seed, wallet);
    const theirs = root.derivePath(path);
    assert.is(evmSpending.path(wallet), path);
    assert.is(`0x${key}`, theirs.address.toLowerCase());
    assert.is(`0x${Buffer.from(secret).toString('hex')}`, theirs.privateKey);
  }
  // Every wallet shows it for that mnemonic.
  assert.is(evmSpending.derive(seed, { role: 'collection', index: 0 }).key, 'f39fd6e51aad88f6f4ce6ab8827279cfffb92266');
  assert.is(evmSpending.xpub(seed), root.derivePath("m/44'/60'/0'/0").neuter().extendedKey);
});

const word = (digits: string): string => digits.padStart(64, '0');
const call = (selector: string, ...words: string[]): string => `0x${selector}${words.map(word).join('')}`;
const usdt = network.tokens[0]?.address ?? '';

/** Well-formed transactions of our own wallet, each with something that Quayside never signs. */
const foreign: Readonly<Record<string, TransactionLike>> = {
  'another selector (approve)': { data: call('095ea7b3', refund.to, 'ff') },
  'another selector (transferFrom)': { data: call('23b872dd', refund.to, refund.to, 'ff') },
  'a call that goes on after its arguments': { data: `${call('a9059cbb', refund.to, 'ff')}00` },
  'a call that ends early': { data: call('a9059cbb', refund.to, 'ff').slice(0, -2) },
  'a recipient of more than 20 bytes': { data: call('a9059cbb', `01${refund.to}`, 'ff') },
  'no call at all to a token': { data: '0x' },
  'nothing moved': { data: call('a9059cbb', refund.to, '0') },
  'native coin sent with the call': { value: 1n },
  'native coin sent to a token': { value: 1n, data: '0x' },
  'an empty transfer of native coin': { to: `0x${refund.to}`, data: '0x', value: 0n },
  'native coin with data': { to: `0x${refund.to}`, value: 5n, data: '0x00' },
  'a call of another contract': { to: `0x${'99'.repeat(20)}` },
  'a new contract': { to: null, data: '0x6000', value: 0n },
  'an access list': { accessList: [{ address: usdt, storageKeys: [`0x${word('1')}`] }] },
  'another chain': { chainId: 56n },
  'a legacy transaction': { type: 0, gasPrice: 1n, maxFeePerGas: null, maxPriorityFeePerGas: null },
  'an access-list transaction': { type: 1, gasPrice: 1n, maxFeePerGas: null, maxPriorityFeePerGas: null },
};

for (const [what, changes] of Object.entries(foreign)) {
  test(`refused when read: ${what}`, async () => {
    assert.match(refusalOf(await signedByEthers(changes)), 'these bytes are not a transaction that Quayside signs');
  });
}

test('what ethers signs without any of these is read', async () => {
  assert.equal(evmSpending.read(await signedByEthers({}), network), evmSpending.read(sign().bytes, network));
  const stranger = evmSpending.read(await signedByEthers({}, { role: 'collection', index: 3 }), network);
  assert.equal(stranger.signers, [evmSpending.derive(seed, { role: 'collection', index: 3 }).key]);
});

test('an unsigned transaction is refused', () => {
  const whole = Transaction.from(`0x${Buffer.from(sign().bytes).toString('hex')}`);
  refusalOf(Buffer.from(whole.unsignedSerialized.slice(2), 'hex'));
});

test('terms have bounds of their own', () => {
  const refusalOn = (changes: Terms): string => {
    const on = { ...terms(refund), ...changes };
    const fault = faultIn(() => evmSpending.sign({ network, intent: refund, terms: on }, [refundKey]));
    assert.is(fault.code, 'spend_terms_invalid');
    return fault.message;
  };
  assert.match(refusalOn({ gas_limit: '20999' }), 'gas_limit');
  assert.match(refusalOn({ gas_limit: '300000000' }), 'gas_limit');
  assert.match(refusalOn({ nonce: '9007199254740992' }), 'nonce');
  assert.match(refusalOn({ max_priority_fee_per_gas: '30000000001' }), 'max_priority_fee_per_gas');
  assert.match(refusalOn({ nonce: '01' }), 'nonce');
  assert.match(refusalOn({ max_fee_per_gas: String(10n ** 17n / 80_000n + 1n) }), 'the policy allows');
});

await runSpendConformance('evm', {
  chain: chains.evm,
  network,
  elsewhere,
  terms,
  dearTerms: (intent) => ({ ...terms(intent), max_fee_per_gas: '1250000000001' }),
  gasForms: ['transfer'],
  payee: (number) => (number + 1).toString(16).padStart(40, 'b'),
  unitsMax: 2n ** 256n - 1n,
  idOf: (bytes) => Transaction.from(`0x${Buffer.from(bytes).toString('hex')}`).hash ?? '',
});
