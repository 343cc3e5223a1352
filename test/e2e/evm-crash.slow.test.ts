/**
 * An indexer that is killed with SIGKILL right after each of its commits, until the work is done: nothing is lost and
 * nothing is credited twice. The test watches the database file, so it strikes at every commit, whatever made it.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import Sqlite from 'better-sqlite3';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { startPool, xpubFingerprint } from '../../src/addresses/pool-keeper.ts';
import { openDatabase } from '../../src/app/open-database.ts';
import { prepareDatabase } from '../../src/app/prepare-database.ts';
import { chains } from '../../src/chains/index.ts';
import { type Config, loadConfig } from '../../src/config/config.ts';
import type { Database } from '../../src/database/database.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { installationFolder as root } from '../../src/lib/installation.ts';
import { openLog } from '../../src/lib/log.ts';
import { databaseFile } from '../../src/lib/secret-key.ts';
import { startAnvil } from '../support/anvil.ts';
import { built } from '../support/built.ts';
import { deployBatchSender, deployToken, type TokenContract } from '../support/contracts.ts';
import { merchantStore, newSession } from '../support/new-session.ts';
import { until } from '../support/until.ts';

const NETWORK = 'test:ethereum';
const DEPTH = 3;
/** m/44'/60'/0'/0 of a seed of 32 bytes 0x07. */
const XPUB =
  'xpub6Ew7EvtU5EcYekrZWg8pm8BqR1dMb9xqooABkmNCi4KNcEZDwx3r9GmFhgJFge8RAZPLo2UBh2bsCcbZcbqp1bKz5CahKv5ZnMRCH96oQAU';
/** An indexer that has reported this often that it follows, about once a second, and commits no fact has caught up. */
const QUIET_REPORTS = 3;
/** Between two looks into the database: one at every turn would take a core from the indexer that it watches. */
const LOOK_MS = 1;

/** What the test opened, newest last; closed in reverse order even if it fails. */
const opened: (() => unknown)[] = [];
test.after(async () => {
  for (const close of opened.reverse()) await close();
});

/** A chain with both tokens, and a contract that sends several payments in one transaction. */
async function startChain() {
  const anvil = await startAnvil({ chainId: 1 });
  opened.push(() => anvil.close());
  const usdt = await deployToken(anvil, { symbol: 'USDT', decimals: 6 });
  const usdc = await deployToken(anvil, { symbol: 'USDC', decimals: 6 });
  const batch = await deployBatchSender(anvil);
  await usdt.transfer(batch.address, 100_000_000n);
  await anvil.mine(2);
  return { anvil, usdt, usdc, batch };
}

const settingsOf = (dataDir: string, url: string, tokens: readonly TokenContract[]) => ({
  data_dir: dataDir,
  port: 0,
  log_level: 'error',
  limits: { blocks_per_ingest_max: 1 },
  networks: {
    ethereum: {
      mode: 'test',
      url,
      xpub: XPUB,
      confirmations: { blocks: DEPTH, finality: false, tiers: null },
      reorg_depth_max: 20,
      poll_ms: 100,
      block_time_ms: 1000,
      tokens: tokens.map(({ address, decimals }, at) => ({ symbol: at ? 'USDC' : 'USDT', address, decimals })),
    },
  },
});

async function fillPool(database: Database, config: Config): Promise<void> {
  const pool = startPool({ database, config, clock: systemClock, log: openLog('test', 'silent') });
  await until(
    'the pool is filled',
    async () => (await database.addresses.level({ family: 'evm', mode: 'test' }, xpubFingerprint(XPUB))).free > 20,
  );
  await pool.stop();
}

/** What the indexer has committed, read beside it. */
function openFacts(file: string) {
  const facts = new Sqlite(file, { readonly: true });
  opened.push(() => facts.close());
  const factsNow = facts.prepare(
    `SELECT (SELECT tip_hash FROM networks) || '/' || (SELECT count(*) FROM transfers) || '/' ||
            (SELECT count(*) FROM transfers WHERE confirmed = 1) || '/' || (SELECT count(*) FROM events)`,
  );
  const fingerprint = () => factsNow.pluck().get();
  const reports = facts.prepare('SELECT max(updated_at_ms) FROM networks').pluck();
  // The chain makes no block by itself: on a slow machine its newest one may be called stale by the time it is read.
  const follows = facts
    .prepare("SELECT count(*) FROM networks WHERE state = 'following' OR reason_code = 'node_stale'")
    .pluck();
  const tip = facts.prepare('SELECT tip_hash FROM networks').pluck();
  return { facts, fingerprint, reports, follows, tip };
}

async function expectPaid(database: Database, id: string, units: bigint): Promise<void> {
  const now = await database.sessions.find(id);
  assert.is(now?.life.status, 'paid');
  assert.is(now?.standing.confirmedPar, units * 10n ** 12n);
  const standing = now?.payments.filter(({ state }) => state !== 'orphaned') ?? [];
  assert.is(
    standing.reduce((sum, payment) => sum + payment.units, 0n),
    units,
  );
}

/** An installation with its database and addresses, and no process. */
async function openShop(dataDir: string, settings: unknown) {
  const file = join(dataDir, 'config.json');
  await writeFile(file, JSON.stringify(settings));
  const env = { ...process.env, QUAYSIDE_CONFIG: file };
  const config = loadConfig({ env, cwd: root });
  const [network] = config.networks;
  assert.ok(network);

  const databasePath = databaseFile(dataDir);
  prepareDatabase(config, env);
  const database = openDatabase(config, env);
  opened.push(() => database.close());
  await fillPool(database, config);
  return { env, network, database, databasePath };
}

test('killed at each of its commits, the indexer neither loses a payment nor credits one twice', async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'quayside-crash-'));
  opened.push(() => rm(dataDir, { recursive: true, force: true }));
  const { anvil, usdt, usdc, batch } = await startChain();
  const settings = settingsOf(dataDir, anvil.wsUrl, [usdt, usdc]);
  const { env, network, database, databasePath } = await openShop(dataDir, settings);
  const { facts, fingerprint, reports, follows, tip } = openFacts(databasePath);

  /** Runs the indexer until `strike` says so or nothing more happens, then kills it. @returns whether it was struck */
  async function life(strike: () => boolean): Promise<boolean> {
    const child: ChildProcess = spawn(process.execPath, [built('indexers/evm.ts'), NETWORK], {
      cwd: root,
      env,
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    const ended = new Promise((resolve) => child.once('exit', resolve));
    opened.push(() => child.kill('SIGKILL'));
    let [quietReports, lastReport, last] = [0, reports.get(), fingerprint()];
    let struck = false;
    while (quietReports < QUIET_REPORTS) {
      assert.is(child.exitCode, null, 'the indexer does not end by itself');
      struck = strike();
      if (struck) break;
      const [report, now] = [reports.get(), fingerprint()];
      if (now !== last) quietReports = 0;
      else if (report !== lastReport && follows.get() === 1) quietReports++;
      [lastReport, last] = [report, now];
      await wait(LOOK_MS);
    }
    child.kill('SIGKILL');
    await ended;
    return struck;
  }
  const untilCommit = () => {
    const before = fingerprint();
    return life(() => fingerprint() !== before);
  };
  const untilReport = () => {
    const before = reports.get();
    return life(() => reports.get() !== before);
  };

  const merchant = merchantStore();
  await database.stores.create(merchant);
  const takeSession = async (name: string, amountMinor: number) => {
    const wish = { storeId: merchant.id, name, networks: [network], amountMinor, nowMs: systemClock.nowMs() };
    const outcome = await database.sessions.create(newSession(wish));
    if (outcome.kind !== 'created') throw new Error(`no session: ${outcome.kind}`);
    return { id: outcome.session.id, address: chains.evm.address.format(outcome.session.addresses.evm ?? '') };
  };
  let strikes = 0;
  const strike = async (kind: () => Promise<boolean>) => {
    if (await kind()) strikes += 1;
  };
  /** Kills the indexer after each commit until it has caught up with the node. */
  const strikeUntilLevel = async () => {
    while (tip.get() !== (await anvil.head()).hash) await strike(untilCommit);
  };

  await strikeUntilLevel();
  const [exact, topped, twice, moved] = [
    await takeSession('order1000', 1000),
    await takeSession('order2000', 2000),
    await takeSession('order3000', 3000),
    await takeSession('order4000', 4000),
  ];

  const story: readonly (() => Promise<unknown>)[] = [
    () => usdt.transfer(exact.address, 10_000_000n),
    () => usdc.transfer(topped.address, 12_000_000n),
    () =>
      batch.sendOwn(usdt.address, [
        [twice.address, 10_000_000n],
        [exact.address, 0n],
        [twice.address, 20_000_000n],
      ]),
    () => usdt.transfer(moved.address, 40_000_000n),
  ];
  for (const step of story) {
    await step();
    await anvil.mine();
    await strike(untilReport);
    await strikeUntilLevel();
  }
  // The last two blocks are replaced, and each of their transactions is mined again one block later.
  for (const raw of await anvil.reorg(2)) {
    await strikeUntilLevel();
    await anvil.sendRaw(raw);
    await anvil.mine();
  }
  const orphans = facts.prepare(
    'SELECT count(*) FROM transfers JOIN blocks ON blocks.id = block_id WHERE canonical = 0',
  );
  assert.ok(Number(orphans.pluck().get()) > 0, 'the reorg was seen');
  await usdc.transfer(topped.address, 8_000_000n);
  await anvil.mine(DEPTH);
  // Then it is killed at every commit until nothing is left to commit.
  for (let lives = 0; await untilCommit(); lives++) {
    strikes += 1;
    assert.ok(lives < 40, 'the work comes to an end');
  }

  assert.ok(strikes >= 15, `only ${strikes} strikes`);
  const completedEvents = facts
    .prepare(`SELECT count(*) FROM events WHERE session_id = ? AND type = 'payment.completed'`)
    .pluck();
  for (const [session, units] of [
    [exact, 10_000_000n],
    [topped, 20_000_000n],
    [twice, 30_000_000n],
    [moved, 40_000_000n],
  ] as const) {
    await expectPaid(database, session.id, units);
    const completed = completedEvents.get(session.id);
    assert.is(completed, 1);
  }
});

test.run();
