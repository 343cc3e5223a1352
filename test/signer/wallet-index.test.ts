/**
 * Which wallet signs once the policy has another index: the policy and the journal decide, and no request does.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { Transaction } from 'ethers';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { evmSpending } from '../../src/chains/evm/spend.ts';
import type { Wallet } from '../../src/core/intent.ts';
import { signerFiles } from '../../src/signer/files.ts';
import { type PolicySettings, readPolicy } from '../../src/signer/policy.ts';
import type { SignRequest } from '../../src/signer/protocol.ts';
import { firstOf, newSigner, refundOf, removeSigners, seed, terms, usdt } from '../support/temp-signer.ts';
import { backUpInto, readBackup } from './signer-backup.ts';

const network = 'test:one';
const keyOf = (wallet: Wallet) => evmSpending.derive(seed, wallet).key;
const [first, second, third] = [0, 1, 2].map((index) => keyOf({ role: 'refund', index })) as [string, string, string];

/** A signer whose policy can be changed; it is opened again after each change. */
function openSigner() {
  const signer = newSigner();
  const { policy: file } = signerFiles(signer.dir);
  return {
    ...signer,
    file,
    sign: (request: SignRequest) => Transaction.from(`0x${Buffer.from(signer.sign(request).bytes).toString('hex')}`),
    /** Restarts the signer with these indices in its policy. */
    use(wallets: { refund: number; gas: number }) {
      const settings = JSON.parse(readFileSync(file, 'utf8')) as PolicySettings;
      Object.assign(settings.networks[network] ?? {}, { wallets });
      writeFileSync(file, JSON.stringify(settings));
      signer.restart();
    },
  };
}
test.after(removeSigners);

const fromOf = ({ from }: Transaction) => from?.slice(2).toLowerCase();

test('the wallet with the index pays, and a request that expects another is refused', () => {
  const signer = openSigner();
  assert.is(fromOf(signer.sign(firstOf(refundOf('rf_1', usdt(5)), 0))), first);
  signer.use({ refund: 1, gas: 0 });
  const next = firstOf(refundOf('rf_2', usdt(5)), 0);
  for (const payer of [first, third, 'a'.repeat(40)]) assert.is(signer.refusal({ ...next, payer }), 'wallet');
  assert.is(signer.journal().entries(network, 0, 10).length, 1, 'nothing was signed meanwhile');
  assert.is(fromOf(signer.sign({ ...next, payer: second })), second);
  const [, entry] = signer.journal().entries(network, 0, 10);
  assert.is(entry?.payer, second);
  assert.is(signer.service().wallets('test:two').refund, first, 'another network has its own');
});

test('a replacement is signed only by the wallet of what it replaces; a new generation by the current one', () => {
  const signer = openSigner();
  signer.sign(firstOf(refundOf('rf_1', usdt(5)), 7));
  signer.use({ refund: 1, gas: 0 });
  const replacing = firstOf(refundOf('rf_1', usdt(5)), 7, { attempt: 1, terms: terms(7, 30) });
  for (const payer of [first, second]) assert.is(signer.refusal({ ...replacing, payer }), 'wallet');
  signer.use({ refund: 0, gas: 0 });
  assert.is(fromOf(signer.sign(replacing)), first);
  signer.use({ refund: 1, gas: 0 });
  const again = firstOf(refundOf('rf_1', usdt(5)), 0, { generation: 1, proof: 'failed' });
  assert.is(fromOf(signer.sign({ ...again, payer: second })), second);
  assert.equal(signer.journal().payersOf('rf_1'), [first, second]);
});

test('the gas wallet has an index of its own, and a backup has the policy with the index', async () => {
  const signer = openSigner();
  signer.use({ refund: 0, gas: 1 });
  const gas = { kind: 'gas', id: 'ga_1', network, form: 'transfer', index: 3, units: 10n ** 15n } as const;
  const next = keyOf({ role: 'gas', index: 1 });
  assert.is(fromOf(signer.sign({ ...firstOf(gas, 0), payer: next })), next);
  assert.is(fromOf(signer.sign(firstOf(refundOf('rf_1', usdt(5)), 0))), first);
  const file = `${signer.file}.backup`;
  await backUpInto(file, signer.service());
  const { policy } = await readBackup(file);
  assert.equal(readPolicy('backup', policy).networks[0]?.walletIndices, { refund: 0, gas: 1 });
});

test.run();
