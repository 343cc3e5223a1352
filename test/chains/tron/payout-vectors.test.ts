/**
 * TRON's payouts as bytes. The vectors were made once with tronweb 6.5.1 by its own builder and wallet, as `byTronWeb`
 * does it here without a node, from the seed of the words "test … junk"; they must not change, and tronweb still makes
 * the same.
 */
import { pbkdf2Sync } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { TronWeb, utils } from 'tronweb';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { SpendNetwork, SpendReading } from '../../../src/chains/spend.ts';
import { tronAddress } from '../../../src/chains/tron/address.ts';
import { paidBytes } from '../../../src/chains/tron/payout-costs.ts';
import { tronSpending } from '../../../src/chains/tron/spend.ts';
import { gasReceiver, type Intent, isPayback, type Wallet } from '../../../src/core/intent.ts';
import type { Terms } from '../../../src/core/spend.ts';

const mnemonic = 'test test test test test test test test test test test junk';
const seed = new Uint8Array(pbkdf2Sync(mnemonic, 'mnemonic', 2048, 64, 'sha512'));
const USDT = 'TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t';
const TRIGGER_RESULT_BYTES = 64n;
const network: SpendNetwork = {
  chainId: '728126428',
  tokens: [{ symbol: 'USDT', address: USDT, decimals: 6 }],
  treasury: '71'.repeat(20),
  feeUnitsMax: 50_000_000n,
};

type Vector = Readonly<{ what: string; intent: unknown; terms: Terms; tx: string; bytes: string }>;
const vectors = JSON.parse(readFileSync('test/vectors/tron-payouts.json', 'utf8')) as readonly Vector[];

function intentOf({ intent }: Vector): Intent {
  const stored = intent as Intent & { units?: string; from?: readonly { index: number; units: string }[] };
  if (stored.kind !== 'sweep') return { ...stored, units: BigInt(stored.units) } as Intent;
  return { ...stored, from: stored.from.map(({ index, units }) => ({ index, units: BigInt(units) })) };
}

const textOf = (wallet: Wallet): string => tronAddress.format(tronSpending.derive(seed, wallet).key);

/** As anybody would make it with tronweb, whose transport to the bytes is another than the signer's. */
async function byTronWeb(intent: Intent, terms: Terms): Promise<Readonly<{ tx: string; bytes: string }>> {
  const [payer] = tronSpending.signers(intent);
  if (!payer) throw new Error('there is a signer');
  const { address, privateKey } = TronWeb.fromMnemonic(mnemonic, tronSpending.path(payer));
  const tronWeb = new TronWeb({ fullHost: 'http://127.0.0.1:1' });
  const blockHeader = {
    ref_block_bytes: (Number(terms.ref_block_number) % 65_536).toString(16).padStart(4, '0'),
    ref_block_hash: terms.ref_block_hash ?? '',
    timestamp: Number(terms.timestamp_ms),
    expiration: Number(terms.expiration_ms),
  };
  const builder = tronWeb.transactionBuilder;
  const send = async (to: string, units: bigint) => {
    const options = { feeLimit: Number(terms.fee_limit), txLocal: true, blockHeader };
    const values = [
      { type: 'address', value: to },
      { type: 'uint256', value: units.toString() },
    ];
    return (await builder.triggerSmartContract(USDT, 'transfer(address,uint256)', options, values, address))
      .transaction;
  };
  const build = async () => {
    if (isPayback(intent)) return send(tronAddress.format(intent.to), intent.units);
    if (intent.kind === 'sweep') return send(tronAddress.format(network.treasury), intent.from[0]?.units ?? 0n);
    const to = textOf(gasReceiver(intent));
    const sun = Number(intent.units);
    if (intent.form === 'transfer') return builder.sendTrx(to, sun, address, { blockHeader });
    if (intent.form === 'reclaim') return builder.undelegateResource(sun, to, 'ENERGY', address, { blockHeader });
    return builder.delegateResource(sun, to, 'ENERGY', address, false, 0, { blockHeader });
  };
  const signed = await tronWeb.trx.sign(await build(), privateKey.replace(/^0x/, ''));
  const message = utils.transaction.txJsonToPb(signed);
  const [signature = ''] = signed.signature;
  message.addSignature(Uint8Array.from(Buffer.from(signature.replace(/^0x/, ''), 'hex')));
  return { tx: signed.txID, bytes: Buffer.from(message.serializeBinary()).toString('hex') };
}

for (const vector of vectors) {
  test(`${vector.what}: the bytes are those of the vector, and tronweb’s own`, async () => {
    const intent = intentOf(vector);
    const { terms, tx, bytes } = vector;
    const keys = tronSpending.signers(intent).map((wallet) => tronSpending.derive(seed, wallet));
    const signed = tronSpending.sign({ network, intent, terms }, keys);
    assert.is(signed.tx, tx);
    assert.is(Buffer.from(signed.bytes).toString('hex'), bytes);
    assert.equal(await byTronWeb(intent, terms), { tx, bytes });
  });

  test(`${vector.what}: it is read back, and its length is known before it is signed`, () => {
    const intent = intentOf(vector);
    const bytes = Buffer.from(vector.bytes, 'hex');
    const reading: SpendReading = tronSpending.read(bytes, network);
    const [move] = reading.effects;
    assert.is(reading.tx, vector.tx);
    assert.is(move?.units, intent.kind === 'sweep' ? intent.from[0]?.units : intent.units);
    const kind = intent.kind !== 'gas' ? 'trigger' : intent.form === 'reclaim' ? 'undelegate' : intent.form;
    const number = kind === 'trigger' ? BigInt(vector.terms.fee_limit ?? 0) : (move?.units ?? 0n);
    assert.is(paidBytes(kind, number), BigInt(bytes.length) + TRIGGER_RESULT_BYTES);
  });
}

test('every kind of payout has a vector', () => {
  const kinds = vectors.map((vector) => {
    const intent = intentOf(vector);
    return intent.kind === 'gas' ? intent.form : intent.kind;
  });
  assert.equal([...new Set(kinds)].sort(), ['delegate', 'reclaim', 'refund', 'sweep', 'transfer']);
});

test.run();
