import { bytesToHex } from '@noble/hashes/utils.js';
import * as fc from 'fast-check';
import { utils } from 'tronweb';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { wireAddress } from '../../../src/chains/tron/address.ts';
import { integerField, readMessage } from '../../../src/chains/tron/protobuf.ts';
import { type RawTransaction, rawBytes, type TronAction } from '../../../src/chains/tron/transaction-bytes.ts';
import { runs } from '../../support/runs.ts';

const hexOf = (bytes: number) => fc.uint8Array({ minLength: bytes, maxLength: bytes }).map(bytesToHex);
/** tronweb takes numbers; java-tron's are int64. */
const whole = fc.oneof(fc.bigInt(1n, 2n ** 53n - 1n), fc.bigInt(1n, 300n));
const moves = (kind: 'transfer' | 'delegate' | 'undelegate') =>
  fc.record({ kind: fc.constant(kind), owner: hexOf(20), to: hexOf(20), units: whole });
const actions: fc.Arbitrary<TronAction> = fc.oneof(
  moves('transfer'),
  moves('delegate'),
  moves('undelegate'),
  fc.record({
    kind: fc.constant('trigger' as const),
    owner: hexOf(20),
    contract: hexOf(20),
    data: fc.uint8Array({ minLength: 1, maxLength: 200 }).map(bytesToHex),
  }),
);
const raws: fc.Arbitrary<RawTransaction> = fc.record({
  action: actions,
  refBlockBytes: hexOf(2),
  refBlockHash: hexOf(8),
  expirationMs: whole,
  timestampMs: whole,
  feeLimit: fc.oneof(whole, fc.constant(0n)),
});

/** The action as tronweb names its contract types and fields. */
function theirContract(action: TronAction): Readonly<{ type: string; value: Record<string, unknown> }> {
  const owner_address = wireAddress(action.owner);
  if (action.kind === 'trigger') {
    const value = { owner_address, contract_address: wireAddress(action.contract), call_value: 0, data: action.data };
    return { type: 'TriggerSmartContract', value };
  }
  const [to, sun] = [wireAddress(action.to), Number(action.units)];
  if (action.kind === 'transfer')
    return { type: 'TransferContract', value: { owner_address, to_address: to, amount: sun } };
  const loan = { owner_address, receiver_address: to, balance: sun, resource: 'ENERGY' };
  return action.kind === 'delegate'
    ? { type: 'DelegateResourceContract', value: { ...loan, lock: false, lock_period: 0 } }
    : { type: 'UnDelegateResourceContract', value: loan };
}

function byTronWeb({ action, ...raw }: RawTransaction): string {
  const { type, value } = theirContract(action);
  const transaction = {
    visible: false,
    txID: '',
    raw_data_hex: '',
    raw_data: {
      contract: [{ type, parameter: { value, type_url: `type.googleapis.com/protocol.${type}` } }],
      ref_block_bytes: raw.refBlockBytes,
      ref_block_hash: raw.refBlockHash,
      timestamp: Number(raw.timestampMs),
      expiration: Number(raw.expirationMs),
      ...(raw.feeLimit > 0n && { fee_limit: Number(raw.feeLimit) }),
    },
  };
  const { txJsonToPb, txPbToRawDataHex } = utils.transaction;
  return String(txPbToRawDataHex(txJsonToPb(transaction)))
    .replace(/^0x/, '')
    .toLowerCase();
}

test('raw data is, byte for byte, what tronweb writes', () => {
  fc.assert(
    fc.property(raws, (raw) => assert.is(bytesToHex(rawBytes(raw)), byTronWeb(raw))),
    { numRuns: runs(3_000) },
  );
});

test('an integer field holds every int64 and nothing else', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 30 }), fc.bigInt(0n, 2n ** 63n - 1n), (field, value) => {
      const read = readMessage(integerField(field, value), { [field]: 'integer' });
      assert.is(read?.integer(field), value);
    }),
    { numRuns: runs(1_000) },
  );
  assert.throws(() => integerField(1, 2n ** 63n), /int64/);
  assert.throws(() => integerField(1, -1n), /int64/);
});

test.run();
