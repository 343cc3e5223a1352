/** Alarms about money, raised through the database as each process of an installation opens it. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { openDatabase } from '../../src/app/open-database.ts';
import { prepareDatabase } from '../../src/app/prepare-database.ts';
import { loadConfig } from '../../src/config/config.ts';
import { ingestedChain } from '../support/ingested-chain.ts';

const dataDir = mkdtempSync(join(tmpdir(), 'quayside-amounts-'));
const env = { QUAYSIDE_DATA_DIR: dataDir };
const config = loadConfig({ env, cwd: dataDir });
await prepareDatabase(config, env);
const database = openDatabase(config, env);
test.after(() => {
  database.close();
  rmSync(dataDir, { recursive: true, force: true });
});

const [wallet, gas, deposit, stranger] = ['a1', 'a2', 'a3', 'b1'].map((byte) => byte.repeat(20)) as [
  ...[string, string, string, string],
];
const nowMs = 1_800_000_000_000;

/** Returns the newest alarm with a code. */
async function messageOf(code: string): Promise<string> {
  const found = (await database.alarms.list(20)).find((one) => one.code === code);
  assert.ok(found, code);
  return found.message;
}

for (const [key, coin] of [
  ['test:bsc', 'BNB'],
  ['test:ethereum', 'ETH'],
] as const) {
  const network = config.networks.find((one) => one.key === key);
  assert.ok(network, key);
  const { family, tokens } = network;
  const unit = 10n ** BigInt(tokens.find(({ symbol }) => symbol === 'USDT')?.decimals ?? 0);

  test(`on ${key}, the amount that the wallets lack is shown in coins`, async () => {
    const compare = (heldUnits: bigint, atMs: number) =>
      database.wallets.compareBooks({ network: key, heldUnits, nowMs: atMs });
    await compare(10n ** 18n, nowMs);
    for (const atMs of [nowMs + 200_001, nowMs + 400_000]) await compare(10n ** 17n * 9n, atMs);
    const { reason } = (await database.holds.find(key)) ?? { reason: '' };
    assert.match(reason, `of ${key} hold 0.90 ${coin}, 0.10 ${coin} less than the books say`);
  });

  test(`on ${key}, so is what has left a wallet, and what came to an address without a payment`, async () => {
    await database.wallets.recordOwn(key, { refund: wallet, gas });
    if (key === 'test:bsc')
      await database.addresses.add({ family, mode: 'test', source: 'test', firstIndex: 0, keys: [deposit] });
    const paid = { currency: 'USDT', units: (25n * unit) / 10n } as const;
    const chain = ingestedChain(() => database, { nowMs: () => nowMs }, network);
    const block = await chain.mine([
      { ...paid, from: wallet, to: stranger, isOutgoing: true },
      { ...paid, from: stranger, to: deposit },
    ]);
    await chain.finalize(block);
    await database.wallets.judge(key, nowMs);
    const reasons = (await database.holds.list()).map(({ reason }) => reason);
    assert.ok(reasons.some((reason) => reason.includes(`of ${key} moved 2.50 USDT from our refund wallet`)));
    assert.match(await messageOf('payment_without_session'), `on ${key} paid 2.50 USDT to our address`);
  });
}

test.run();
