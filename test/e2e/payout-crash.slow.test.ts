/**
 * Payouts on a real EVM node, signed by a real signer process. The indexer is killed with SIGKILL right after each
 * commit that concerns them, and the signer from time to time: each is paid once, and the books balance.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import Sqlite from 'better-sqlite3';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { evmSpending } from '../../src/chains/evm/spend.ts';
import { createIntentMac, type RefundIntent } from '../../src/core/intent.ts';
import { openSqliteDatabase } from '../../src/database/database.ts';
import { migrate } from '../../src/database/engine/migrate.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { databaseFile, readSecretKey, secretKeyFile } from '../../src/lib/secret-key.ts';
import { openJournal } from '../../src/signer/journal.ts';
import { seedOf } from '../../src/signer/keystore.ts';
import { makeSigner } from '../../src/signer/setup.ts';
import { startAnvil } from '../support/anvil.ts';
import { built } from '../support/built.ts';
import { deployToken } from '../support/contracts.ts';
import { endSigners, startSigner } from '../support/signer-process.ts';
import { until } from '../support/until.ts';

const NETWORK = 'test:ethereum';
const ETHER = 10n ** 18n;
/** After this many kills of the indexer, the signer is killed too. */
const SIGNER_DIES = 3;
const LIVES_MAX = 40;
/** Between two looks into the database: one at every turn would take a core from the indexer that it watches. */
const LOOK_MS = 1;
const PASSPHRASE = 'a passphrase of the tests';

const seed = seedOf('legal winner thank year wave sausage worth useful legal winner thank yellow');
const refundWallet = evmSpending.derive(seed, { role: 'refund' }).key;

/** What the test opened, newest last; closed in reverse order even if it fails. */
const opened: (() => unknown)[] = [];
test.after(async () => {
  for (const close of opened.reverse()) await close();
  endSigners();
});

type PaidToken = Readonly<{ symbol: 'USDT'; address: string; decimals: number }>;

const policyOf = (token: PaidToken): Parameters<typeof makeSigner>[3] => ({
  version: 1,
  approvers: [],
  networks: {
    [NETWORK]: {
      family: 'evm',
      chain_id: '1',
      tokens: [token],
      treasury: `0x${'71'.repeat(20)}`,
      fee_max: '0.1',
      caps: { USDT: { transaction: '500', hour: '1000', day: '2000' } },
      gas_caps: { transaction: '0.1', day: '1' },
    },
  },
});

const settingsOf = (dataDir: string, dir: string, url: string, token: PaidToken) => ({
  data_dir: dataDir,
  port: 0,
  log_level: 'fatal',
  signer: { dir, unlock: 'external' },
  networks: {
    ethereum: {
      mode: 'test',
      url,
      xpub: evmSpending.xpub(seed),
      confirmations: { blocks: 2, finality: false, tiers: null },
      reorg_depth_max: 40,
      block_time_ms: 1000,
      poll_ms: 100,
      tokens: [token],
    },
  },
});

function refundTo(to: string, id: string, secretKey: Uint8Array): RefundIntent {
  const plain = {
    kind: 'refund',
    session: { id: 'cs_1', amount: '5.00' },
    id,
    network: NETWORK,
    currency: 'USDT',
    to,
    units: 5_000_000n,
  } as const;
  return { ...plain, mac: createIntentMac(secretKey)(plain) };
}

test('killed at each commit of a payout, indexer and signer pay each refund once', async () => {
  const home = mkdtempSync(join(tmpdir(), 'quayside-payout-crash-'));
  opened.push(() => rmSync(home, { recursive: true, force: true }));
  const anvil = await startAnvil({ chainId: 1, slotsInAnEpoch: 1, mining: { everyS: 1 } });
  opened.push(() => anvil.close());
  const usdt = await deployToken(anvil, { symbol: 'USDT', decimals: 6 });
  await anvil.rpc('anvil_setBalance', [`0x${refundWallet}`, `0x${ETHER.toString(16)}`]);
  await usdt.transfer(`0x${refundWallet}`, 1_000_000_000n);

  const token = { symbol: 'USDT' as const, address: usdt.address, decimals: 6 };
  const [dir, passphraseFile, dataDir, configFile] = ['signer', 'passphrase', 'data', 'config.json'].map((name) =>
    join(home, name),
  ) as [string, string, string, string];
  makeSigner(dir, seed, Buffer.from(PASSPHRASE), policyOf(token));
  writeFileSync(passphraseFile, PASSPHRASE, { mode: 0o600 });
  writeFileSync(configFile, JSON.stringify(settingsOf(dataDir, dir, anvil.wsUrl, token)));
  const env = { ...process.env, QUAYSIDE_CONFIG: configFile };

  mkdirSync(dataDir);
  const secretKey = readSecretKey(dataDir, env);
  const file = databaseFile(dataDir);
  migrate({ file, backupDir: dataDir });
  const database = openSqliteDatabase({ file, secretKey, busyTimeoutMs: 10_000, bytesMax: null, outageWaitS: 600 });
  opened.push(() => database.close());
  const facts = new Sqlite(file, { readonly: true });
  opened.push(() => facts.close());

  const unlock = ['--unlock', `file:${passphraseFile}`];
  const start = () => startSigner(['--dir', dir, '--secret-key-file', secretKeyFile(dataDir, env), ...unlock]);
  let signer = start();
  assert.ok(await signer.ready, signer.output());

  const payees = [1, 2].map((n) => n.toString(16).padStart(40, 'c'));
  const intents = payees.map((to, at) => refundTo(to, `rf_${at}`, secretKey));
  const nowMs = systemClock.nowMs();
  const plan = intents.map((intent) => ({ intent, sessionId: null, servesId: null, notBeforeMs: nowMs, nowMs }));
  await database.payouts.plan(plan);

  const stateNow = facts
    .prepare(
      `SELECT (SELECT group_concat(id || state || generation) FROM payouts) || '/' ||
              (SELECT count(*) || ',' || count(tx) || ',' || count(sent_at_ms) FROM payout_attempts) || '/' ||
              coalesce((SELECT journal_id FROM payout_engines), 0)`,
    )
    .pluck();
  const openNow = facts.prepare(`SELECT count(*) FROM payouts WHERE state IN ('waiting', 'sent')`).pluck();

  /** Runs the indexer until the first commit that concerns payouts, then kills it. */
  async function life(): Promise<void> {
    const before = stateNow.get();
    const child: ChildProcess = spawn(process.execPath, [built('indexers/evm.ts'), NETWORK], {
      env,
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    const ended = new Promise((resolve) => child.once('exit', resolve));
    opened.push(() => child.kill('SIGKILL'));
    while (stateNow.get() === before) {
      assert.is(child.exitCode, null, 'the indexer does not end by itself');
      await wait(LOOK_MS);
    }
    child.kill('SIGKILL');
    await ended;
  }

  let lives = 0;
  for (; openNow.get() !== 0; lives++) {
    assert.ok(lives < LIVES_MAX, `the work comes to an end: ${stateNow.get()}`);
    await life();
    if (lives % SIGNER_DIES !== 0) continue;
    signer.kill('SIGKILL');
    await signer.ended;
    signer = start();
    assert.ok(await signer.ready, signer.output());
  }
  assert.ok(lives >= 2 * intents.length, `only ${lives} lives`);

  for (const to of payees) assert.is(await usdt.balanceOf(`0x${to}`), 5_000_000n, `${to} was paid once`);
  assert.is(await usdt.balanceOf(`0x${refundWallet}`), 990_000_000n);
  await until('the wallet has used one number for each', async () => {
    const count = await anvil.rpc<string>('eth_getTransactionCount', [`0x${refundWallet}`, 'latest']);
    return Number(count) === intents.length;
  });
  signer.kill('SIGTERM');
  await signer.ended;
  const journal = openJournal(join(dir, 'signer.db'));
  opened.push(() => journal.close());
  const signed = journal.entries(NETWORK, 0, 100);
  const kept = (await Promise.all(intents.map(({ id }) => database.payouts.attempts(id)))).flat();
  assert.equal(signed.map(({ tx }) => tx).sort(), kept.map(({ tx }) => tx).sort(), 'journal and database agree');
  const report = await database.ledger.verify();
  assert.equal([report.unbalanced, report.differences], [[], []]);
});

test.run();
