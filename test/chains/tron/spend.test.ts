import { createHash, pbkdf2Sync } from 'node:crypto';
import { readFileSync } from 'node:fs';
import * as fc from 'fast-check';
import { TronWeb, utils } from 'tronweb';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { chains } from '../../../src/chains/index.ts';
import { paidBytes } from '../../../src/chains/tron/payout-costs.ts';
import { bytesField, integerField, readMessage } from '../../../src/chains/tron/protobuf.ts';
import { tronSpending } from '../../../src/chains/tron/spend.ts';
import { readTransaction } from '../../../src/chains/tron/transaction-bytes.ts';
import type { Intent, RefundIntent, Wallet } from '../../../src/core/intent.ts';
import type { Terms } from '../../../src/core/spend.ts';
import { runSpendConformance } from '../../conformance/spend.ts';
import { has } from '../../support/fields.ts';
import { refundIntent } from '../../support/intents.ts';
import { spendOn } from '../../support/preset.ts';
import { faultIn } from '../../support/refusal.ts';

const mnemonic = 'test test test test test test test test test test test junk';
const seed = new Uint8Array(pbkdf2Sync(mnemonic, 'mnemonic', 2048, 64, 'sha512'));

const plain = spendOn('tron', '71'.repeat(20), 50_000_000n);
const usdc = { symbol: 'USDC', address: 'TEkxiTehnzSmSe2XqrBj4w32RUN966rdz8', decimals: 6 } as const;
const network = { ...plain, tokens: [...plain.tokens, usdc] };
const elsewhere = spendOn('tron-nile', '72'.repeat(20), 50_000_000n);

const terms = (intent: Intent, variant = 0): Terms => ({
  ref_block_number: '70000123',
  ref_block_hash: '0123456789abcdef',
  timestamp_ms: String(1_795_000_000_000 + variant),
  expiration_ms: '1795001800000',
  fee_limit: intent.kind === 'gas' ? '0' : '30000000',
});

const refund: RefundIntent = refundIntent({
  id: 'rf_00000000000000000000000001',
  network: 'live:tron',
  to: '70997970c51812dc3a010c7d01b50e0d17dc79c8',
  units: 10_500_000n,
});

const sign = (intent: Intent = refund, on = network) =>
  tronSpending.sign(
    { network: on, intent, terms: terms(intent) },
    tronSpending.signers(intent).map((wallet) => tronSpending.derive(seed, wallet)),
  );
const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');

/** The message classes that tronweb was generated from. */
type Proto = { deserializeBinary(bytes: Uint8Array): { getRawData(): { serializeBinary(): Uint8Array } } };
const { Transaction } = (globalThis as unknown as { TronWebProto: { Transaction: Proto } }).TronWebProto;

/** java-tron hashes the raw data as it was sent; tronweb encodes it again, so any difference between the two shows. */
function idByTronWeb(bytes: Uint8Array): string {
  const raw = Transaction.deserializeBinary(bytes).getRawData().serializeBinary();
  return createHash('sha256').update(raw).digest('hex');
}

test('wallets are derived at the paths that TRON’s wallets use', () => {
  const key = (wallet: Wallet) => chains.tron.address.format(tronSpending.derive(seed, wallet).key);
  const { address } = TronWeb.fromMnemonic(mnemonic, "m/44'/195'/0'/0/0");
  assert.is(key({ role: 'collection', index: 0 }), address);
  assert.is(tronSpending.path({ role: 'refund' }), "m/44'/195'/1000'/0/0");
  assert.is(key({ role: 'refund' }), TronWeb.fromMnemonic(mnemonic, "m/44'/195'/1000'/0/0").address);
  assert.is(key({ role: 'gas' }), TronWeb.fromMnemonic(mnemonic, "m/44'/195'/1000'/0/1").address);
});

test('the signature is the one that tronweb itself makes', () => {
  const { secret } = tronSpending.derive(seed, { role: 'refund' });
  const { tx, bytes } = sign();
  const byTronWeb = utils.crypto.ECKeySign(Buffer.from(tx, 'hex'), Buffer.from(secret)) as string;
  assert.match(hex(bytes), byTronWeb.replace(/^0x/, '').toLowerCase());
});

test('a transaction expires, refers to a block and costs according to its terms', () => {
  const read = readTransaction(sign().bytes);
  assert.ok(read);
  has(read, { refBlockBytes: (70_000_123 % 65_536).toString(16).padStart(4, '0'), refBlockHash: '0123456789abcdef' });
  has(read, { expirationMs: 1_795_001_800_000n, timestampMs: 1_795_000_000_000n, feeLimit: 30_000_000n });
  assert.equal(read.action, {
    kind: 'trigger',
    owner: tronSpending.derive(seed, { role: 'refund' }).key,
    contract: chains.tron.address.parse(network.tokens[0]?.address ?? ''),
    data: `a9059cbb${refund.to.padStart(64, '0')}${refund.units.toString(16).padStart(64, '0')}`,
  });
});

test('no expiration is signed that is no time', () => {
  const on = (expirationMs: number) => {
    const given = { timestamp_ms: String(expirationMs - 1), expiration_ms: String(expirationMs) };
    const keys = tronSpending.signers(refund).map((wallet) => tronSpending.derive(seed, wallet));
    return () => tronSpending.sign({ network, intent: refund, terms: { ...terms(refund), ...given } }, keys);
  };
  assert.throws(on(8.64e15 + 1), /expiration_ms 8640000000000001 is no time/);
  assert.ok(on(8.64e15)().tx);
});

type Vector = Readonly<{ what: string; intent: unknown; terms: Terms; tx: string; bytes: string }>;
/** Made once with tronweb 6.5.1, by its own builder and wallet. */
const vectors = JSON.parse(readFileSync('test/vectors/tron-payouts.json', 'utf8')) as readonly Vector[];
const TRIGGER_RESULT_BYTES = 64n;

test('the bytes are those of the vectors, are read back, and have the length known before', () => {
  const kinds = new Set<string>();
  for (const { what, intent: stored, terms: on, tx, bytes } of vectors) {
    const intent = JSON.parse(JSON.stringify(stored), (key, value) =>
      key === 'units' ? BigInt(value) : value,
    ) as Intent;
    const keys = tronSpending.signers(intent).map((wallet) => tronSpending.derive(seed, wallet));
    const signed = tronSpending.sign({ network: plain, intent, terms: on }, keys);
    assert.equal({ tx: signed.tx, hex: hex(signed.bytes) }, { tx, hex: bytes }, what);
    const [move] = tronSpending.read(signed.bytes, plain).effects;
    assert.is(move?.units, intent.kind === 'sweep' ? intent.from[0]?.units : intent.units, what);
    const kind = intent.kind !== 'gas' ? 'trigger' : intent.form === 'reclaim' ? 'undelegate' : intent.form;
    const number = kind === 'trigger' ? BigInt(on.fee_limit ?? 0) : (move?.units ?? 0n);
    assert.is(paidBytes(kind, number), BigInt(signed.bytes.length) + TRIGGER_RESULT_BYTES, what);
    kinds.add(intent.kind === 'gas' ? intent.form : intent.kind);
  }
  assert.equal([...kinds].sort(), ['delegate', 'reclaim', 'refund', 'sweep', 'transfer']);
});

const refusalOf = (bytes: Uint8Array): string => faultIn(() => tronSpending.read(bytes, network)).message;

/** Raw data with another field, signed by the refund wallet with tronweb. */
function signedRaw(raw: Uint8Array): Uint8Array {
  const { secret } = tronSpending.derive(seed, { role: 'refund' });
  const digest = createHash('sha256').update(raw).digest();
  const signature = Buffer.from(String(utils.crypto.ECKeySign(digest, Buffer.from(secret))).replace(/^0x/, ''), 'hex');
  return Buffer.concat([bytesField(1, raw), bytesField(2, signature)]);
}

test('a memo, a permission, a second contract, a value with a call: anything besides the payment is refused', () => {
  const raw = readMessage(sign().bytes, { 1: 'bytes', 2: 'bytes' })?.bytes(1) ?? new Uint8Array();
  assert.is(tronSpending.read(signedRaw(raw), network).signers.length, 1, 'the test itself is sound');
  const parts = (bytes: Uint8Array) =>
    readMessage(bytes, { 1: 'bytes', 4: 'bytes', 8: 'integer', 11: 'bytes', 14: 'integer', 18: 'integer' });
  const contract = parts(raw)?.bytes(11) ?? new Uint8Array();
  const at = Buffer.from(raw).indexOf(Buffer.from(contract));
  const head = raw.subarray(0, at - 2 - (contract.length > 127 ? 1 : 0));
  const tail = raw.subarray(at + contract.length);
  const field = bytesField(11, contract);
  const assemble = (...pieces: Uint8Array[]) => new Uint8Array(Buffer.concat(pieces));
  const frame = assemble(head, field, tail);
  assert.is(hex(frame), hex(raw));
  const memo = bytesField(10, Buffer.from('hello'));
  const permission = bytesField(11, assemble(contract, Uint8Array.of(0x28, 2)));
  for (const [name, bytes] of [
    ['memo', assemble(head, memo, field, tail)],
    ['permission', assemble(head, permission, tail)],
    ['two contracts', assemble(head, field, field, tail)],
    ['unknown field', assemble(raw, bytesField(30, Uint8Array.of(1)))],
  ] as const) {
    assert.match(refusalOf(signedRaw(bytes)), 'canonical', name);
  }
});

test('a message in any form but the shortest is refused', () => {
  const shape = { 1: 'integer', 2: 'bytes' } as const;
  assert.ok(readMessage(Uint8Array.of(0x08, 5, 0x12, 1, 9), shape));
  for (const [name, bytes] of Object.entries({
    'a long varint': [0x08, 0x85, 0x00],
    'a default value': [0x08, 0x00],
    'an empty text': [0x12, 0x00],
    'fields out of order': [0x12, 1, 9, 0x08, 5],
    'a field twice': [0x08, 5, 0x08, 6],
    'another wire type': [0x0d, 1, 2, 3, 4],
    'an unknown field': [0x18, 1],
    'a truncated text': [0x12, 5, 9],
    'a truncated number': [0x08, 0x80],
    'a tag alone': [0x08],
  })) {
    assert.is(readMessage(Uint8Array.from(bytes), shape), null, name);
  }
  fc.assert(fc.property(fc.uint8Array({ maxLength: 40 }), (junk) => void readMessage(junk, shape)));
});

test('an integer field holds every int64 and nothing else', () => {
  const largest = 2n ** 63n - 1n;
  for (const value of [1n, 127n, 128n, 2n ** 53n, largest])
    assert.is(readMessage(integerField(15, value), { 15: 'integer' })?.integer(15), value);
  for (const value of [largest + 1n, -1n]) assert.throws(() => integerField(1, value), /int64/);
});

await runSpendConformance('tron', {
  chain: chains.tron,
  network,
  elsewhere,
  terms,
  dearTerms: (intent) => ({ ...terms(intent), fee_limit: '50000001' }),
  gasForms: ['transfer', 'delegate', 'reclaim'],
  payee: (number) => (0x1000 + number).toString(16).padStart(40, 'a'),
  unitsMax: 2n ** 256n - 1n,
  idOf: idByTronWeb,
});
