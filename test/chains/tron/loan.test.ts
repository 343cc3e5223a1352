/** Reading signed loans of a stake: those of the signer, and what is like one. */
import { secp256k1 } from '@noble/curves/secp256k1.js';
import { bytesToHex, concatBytes, hexToBytes, utf8ToBytes } from '@noble/hashes/utils.js';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { wireAddress } from '../../../src/chains/tron/address.ts';
import { readLoan } from '../../../src/chains/tron/loan.ts';
import { bytesField, integerField } from '../../../src/chains/tron/protobuf.ts';
import { tronSpending } from '../../../src/chains/tron/spend.ts';
import { signedTransaction, transactionDigest, wireSignature } from '../../../src/chains/tron/transaction-bytes.ts';
import { seed } from '../../support/temp-signer.ts';

const gas = tronSpending.derive(seed, { role: 'gas' });
const deposit = tronSpending.derive(seed, { role: 'collection', index: 3 });
const UNITS = 7_000_000n;
const terms = {
  ...{ ref_block_number: '70000123', ref_block_hash: '0123456789abcdef', fee_limit: '0' },
  ...{ timestamp_ms: '1795000000000', expiration_ms: '1795001800000' },
};
const network = { chainId: '', tokens: [], treasury: '', feeUnitsMax: 10n ** 12n };

const plainFields = [
  integerField(2, 1n),
  integerField(3, UNITS),
  bytesField(4, hexToBytes(wireAddress(deposit.key))),
] as const;

function sign(form: 'transfer' | 'delegate' | 'reclaim', payer = gas) {
  const intent = { kind: 'gas', id: 'ga_1', network: 'test:tron', form, index: 3, units: UNITS } as const;
  return tronSpending.sign({ network, intent, terms }, [payer, deposit]);
}

/** A loan with other fields than the signer writes, or of other wallets. */
function signOther(fields: readonly Uint8Array[], { owner = gas, signer = gas } = {}) {
  const value = concatBytes(bytesField(1, hexToBytes(wireAddress(owner.key))), ...fields);
  const any = concatBytes(
    bytesField(1, utf8ToBytes('type.googleapis.com/protocol.DelegateResourceContract')),
    bytesField(2, value),
  );
  const raw = concatBytes(
    bytesField(1, hexToBytes('1d7b')),
    bytesField(4, hexToBytes('0123456789abcdef')),
    integerField(8, 1_795_001_800_000n),
    bytesField(11, concatBytes(integerField(1, 57n), bytesField(2, any))),
    integerField(14, 1_795_000_000_000n),
  );
  const digest = transactionDigest(raw);
  const signature = secp256k1.sign(digest, signer.secret, { prehash: false, format: 'recovered' });
  return { tx: bytesToHex(digest), bytes: signedTransaction(raw, wireSignature(signature)) };
}

test('a loan and its return are read as what the gas wallet lends to whom', () => {
  for (const loan of ['delegate', 'reclaim'] as const) {
    const { tx, bytes } = sign(loan);
    const owners = [{ key: gas.key, units: UNITS }];
    assert.equal(readLoan(bytes, gas.key, tx), { tx, currency: null, to: deposit.key, owners, loan, feeUnitsMax: 0n });
  }
});

test('a transfer is no loan, and a loan of another wallet or id is not that of ours', () => {
  const { tx, bytes } = sign('transfer');
  assert.is(readLoan(bytes, gas.key, tx), null);
  const lent = sign('delegate');
  assert.is(readLoan(lent.bytes, gas.key, tx), 'other');
  const refund = tronSpending.derive(seed, { role: 'refund' });
  for (const { bytes, tx } of [
    sign('delegate', refund),
    signOther(plainFields, { owner: refund }),
    signOther(plainFields, { signer: refund }),
  ])
    assert.is(readLoan(bytes, gas.key, tx), 'other');
});

test('a loan that is locked, of bandwidth, or with anything else that the signer does not write is not read', () => {
  const [energy, units, to] = plainFields;
  const plain = signOther(plainFields);
  assert.is((readLoan(plain.bytes, gas.key, plain.tx) as { to?: string }).to, deposit.key, 'the test itself is sound');
  const locked = integerField(5, 1n);
  for (const fields of [
    [energy, units, to, locked],
    [energy, units, to, locked, integerField(6, 86_400n)],
    [units, to],
  ]) {
    const { bytes, tx } = signOther(fields);
    assert.is(readLoan(bytes, gas.key, tx), null);
    assert.throws(() => tronSpending.read(bytes, network), /spend_bytes_unknown|not a signed transaction/);
  }
});

test.run();
