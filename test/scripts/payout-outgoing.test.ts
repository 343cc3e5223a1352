/** `quayside payouts outgoing`. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { HDKey } from '@scure/bip32';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { openSqliteDatabase } from '../../src/database/sqlite/sqlite-database.ts';
import { databaseFile, readSecretKey } from '../../src/lib/secret-key.ts';
import { makeInstallation, runQuayside } from '../support/quayside-process.ts';

const folder = mkdtempSync(join(tmpdir(), 'quayside-outgoing-'));
const xpub = HDKey.fromMasterSeed(new Uint8Array(32).fill(3)).derive("m/44'/60'/0'/0").publicExtendedKey;
const file = join(folder, 'quayside.json');
writeFileSync(file, JSON.stringify({ data_dir: 'data', networks: { sepolia: { url: 'ws://127.0.0.1:1', xpub } } }));
test.after(() => rmSync(folder, { recursive: true }));

const KEY = 'test:ethereum';
makeInstallation({ QUAYSIDE_CONFIG: file });
const run = (...words: string[]) => runQuayside(words, { QUAYSIDE_CONFIG: file });
const list = async () => JSON.parse((await run('payouts', 'outgoing', KEY, '--json')).out);

async function save(): Promise<void> {
  const dataDir = join(folder, 'data');
  const options = { file: databaseFile(dataDir), secretKey: readSecretKey(dataDir, {}) };
  const database = openSqliteDatabase({ ...options, busyTimeoutMs: 10_000, bytesMax: null, outageWaitS: 600 });
  const [wallet, treasury, payee] = ['a1', 'a2', 'b1'].map((part) => part.repeat(20)) as [string, string, string];
  await database.recordOwnWallets(KEY, [
    { role: 'refund', key: wallet },
    { role: 'treasury', key: treasury },
  ]);
  const leaves = (from: string, tx: string) =>
    ({ tx, index: 0, currency: 'USDT', from, to: payee, units: 1_500_000n, isOutgoing: true }) as const;
  const block = { hash: 'b1', parent: 'b0', number: 7, timeS: 0 };
  await database.ingest({
    network: KEY,
    family: 'evm',
    expectTip: null,
    watchedThroughId: 1_000_000,
    ownWalletId: 1_000,
    decimals: { USDT: 6, USDC: 6 },
    dustFloorPar: 1n,
    drop: [],
    connect: [{ block, transfers: [leaves(wallet, 't1'), leaves(treasury, 't2')] }],
    confirm: [],
    floor: 7,
    readThroughS: 0,
    nowMs: 1,
  });
  await database.judgeOutgoing(KEY, 2);
  database.close();
}

test('what left our wallets is listed with what became of it, also after a thaw', async () => {
  assert.is((await run('payouts', 'outgoing', 'test:other')).code, 3);
  assert.equal(await list(), []);
  await save();
  const shown = (all: Record<string, unknown>[]) => all.map((one) => [one.state, one.wallet, one.units]);
  assert.equal(shown(await list()), [
    ['recorded', 'treasury', '1500000'],
    ['foreign', 'refund', '1500000'],
  ]);
  assert.match((await run('payouts', 'outgoing', KEY)).out, /foreign +refund +.*0x[Bb]1/);
  const text = /t1 in block 7 moved 1\.50 USDT from the refund wallet to 0x[Bb]1[0-9a-fA-F]{38}: https:\/\/[^ ]+t1/;
  const refused = await run('payouts', 'thaw', KEY, '--reason', 'it was us');
  assert.is(refused.code, 2);
  assert.match(refused.err, text);
  assert.match((await run('payouts', 'thaw', KEY, '--reason', 'x', '--dry-run')).out, 'would be acknowledged: t1 ');
  assert.equal(shown(await list())[1], ['foreign', 'refund', '1500000']);
  const thawed = await run('payouts', 'thaw', KEY, '--reason', 'it was us', '--yes', '--json');
  assert.is(thawed.code, 0);
  assert.equal(
    JSON.parse(thawed.out).acknowledged.map((one: Record<string, unknown>) => [one.transaction_hash, one.amount]),
    [['t1', '1.50 USDT']],
  );
  assert.equal(shown(await list())[1], ['known', 'refund', '1500000']);
});

test.run();
