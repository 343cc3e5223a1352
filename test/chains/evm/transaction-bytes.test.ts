import { bytesToHex } from '@noble/hashes/utils.js';
import { decodeRlp as decodeTheirs, SigningKey, Transaction } from 'ethers';
import * as fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { decodeRlp, encodeRlp, type RlpItem } from '../../../src/chains/evm/rlp.ts';
import { readSignedTransaction, signTransaction } from '../../../src/chains/evm/transaction-bytes.ts';
import { runs } from '../../support/runs.ts';

/** ethers takes RLP as hex text, in nested lists. */
type Theirs = string | Theirs[];
const toTheirs = (item: RlpItem): Theirs => (item instanceof Uint8Array ? `0x${bytesToHex(item)}` : item.map(toTheirs));

const { item } = fc.letrec<{ item: RlpItem }>((tie) => ({
  item: fc.oneof(
    { depthSize: 'small', maxDepth: 4 },
    fc.uint8Array({ maxLength: 3 }),
    fc.uint8Array({ minLength: 50, maxLength: 60 }),
    fc.uint8Array({ minLength: 250, maxLength: 300 }),
    fc.array(tie('item'), { maxLength: 6 }),
  ),
}));

test('RLP is read only in its canonical form: what is read encodes to the same bytes', () => {
  let readCount = 0;
  const changed = fc.tuple(item, fc.nat(), fc.integer({ min: 0, max: 255 })).map(([any, at, byte]) => {
    const bytes = encodeRlp(any);
    bytes[at % bytes.length] = byte;
    return bytes;
  });
  fc.assert(
    fc.property(fc.oneof(changed, fc.uint8Array({ maxLength: 80 })), (bytes) => {
      const read = decodeRlp(bytes);
      if (read === null) return;
      readCount += 1;
      assert.equal(encodeRlp(read), bytes);
      assert.equal(decodeTheirs(bytes), toTheirs(read));
    }),
    { numRuns: runs(3_000) },
  );
  assert.ok(readCount > 100, `${readCount} were read`);
  for (const hex of ['8100', '817f', 'b801', 'b83700', 'c180', 'b90038', 'f800', 'c2', '', '0001', 'bf00000000']) {
    const bytes = Buffer.from(hex, 'hex');
    if (hex === 'c180') assert.equal(toTheirs(decodeRlp(bytes) ?? []), ['0x']);
    else assert.is(decodeRlp(bytes), null, hex);
  }
  assert.is(decodeRlp(new Uint8Array(50_000).fill(0xc1)), null, 'depth cannot exhaust the stack');
});

const key = (digits: number) => fc.uint8Array({ minLength: digits / 2, maxLength: digits / 2 }).map(bytesToHex);
const whole = (bits: number) => fc.oneof(fc.bigInt({ min: 0n, max: 2n ** BigInt(bits) - 1n }), fc.bigInt(0n, 300n));
const transactions = fc
  .record({
    chainId: whole(53),
    nonce: whole(53),
    tipWei: whole(255),
    maxFeeWei: whole(255),
    gas: whole(64),
    to: fc.oneof({ weight: 9, arbitrary: key(40) }, { weight: 1, arbitrary: fc.constant(null) }),
    valueWei: whole(256),
    data: fc.uint8Array({ maxLength: 300 }).map(bytesToHex),
  })
  // ethers refuses a tip above the whole fee.
  .map((one) => ({ ...one, maxFeeWei: one.tipWei + one.maxFeeWei }));
const secrets = fc.uint8Array({ minLength: 32, maxLength: 32 }).filter(([first = 0]) => first > 0 && first < 255);

test('a signed transaction is, byte for byte, the one that ethers makes, and is read as ethers reads it', () => {
  fc.assert(
    fc.property(transactions, secrets, (transaction, secret) => {
      const { chainId, nonce, tipWei, maxFeeWei, gas, to, valueWei, data } = transaction;
      const theirs = Transaction.from({
        type: 2,
        chainId,
        nonce: Number(nonce),
        gasLimit: gas,
        value: valueWei,
        data: `0x${data}`,
        to: to === null ? null : `0x${to}`,
        accessList: [],
        maxFeePerGas: maxFeeWei,
        maxPriorityFeePerGas: tipWei,
      });
      const signing = new SigningKey(secret);
      theirs.signature = signing.sign(theirs.unsignedHash);
      const { bytes, tx } = signTransaction(transaction, secret);
      assert.is(`0x${bytesToHex(bytes)}`, theirs.serialized);
      assert.is(tx, theirs.hash);
      const read = readSignedTransaction(bytes);
      assert.equal(read, { transaction, tx, sender: theirs.from?.slice(2).toLowerCase() });
    }),
    { numRuns: runs(2_000) },
  );
});

test('of the two signatures that fit a transaction, only the one with the low s is read', () => {
  const transaction = { chainId: 1n, nonce: 1n, tipWei: 1n, maxFeeWei: 2n, gas: 21_000n, to: '11'.repeat(20) };
  const { bytes } = signTransaction({ ...transaction, valueWei: 5n, data: '' }, new Uint8Array(32).fill(7));
  const items = decodeRlp(bytes.subarray(1));
  assert.ok(items && !(items instanceof Uint8Array));
  const order = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;
  const s = BigInt(`0x${bytesToHex(items[11] as Uint8Array)}`);
  const isOdd = (items[9] as Uint8Array).length > 0;
  const other = Buffer.from((order - s).toString(16).padStart(64, '0'), 'hex');
  const again = (parity: boolean, last: Uint8Array) =>
    Buffer.from([2, ...encodeRlp([...items.slice(0, 9), Uint8Array.from(parity ? [1] : []), items[10] ?? [], last])]);
  assert.equal(again(isOdd, items[11] as Uint8Array), Buffer.from(bytes), 'the test itself is sound');
  assert.is(readSignedTransaction(again(!isOdd, other)), null);
});

test.run();
