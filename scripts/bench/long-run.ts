/**
 * The long run: a whole sandbox sells, is paid, is flooded with dust and loses its processes, one after the other, for
 * minutes. Then everything is compared with what the simulated chains themselves list, and with what the merchant's
 * server was told.
 * @module
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readCredentials } from '../../src/app/sandbox-credentials.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { freePort } from '../../test/support/free-port.ts';
import { startMerchantServer } from '../../test/support/merchant-server.ts';
import {
  endAll,
  type SandboxInstallation,
  type Supervisor,
  sandboxInstallation,
  spawnSupervisor,
} from '../../test/support/quayside-process.ts';
import { type Audit, audit, type Told } from './long-run-audit.ts';
import { openLongRunShop, type Sale, type Sold } from './long-run-shop.ts';
import { DUST_NETWORK, type Happened, makeTrouble, networkNames } from './long-run-trouble.ts';
import { judgeP99, quantile, type Row, round, show } from './report.ts';

/** `seconds`: how long sessions are created beside trouble. `seed` repeats its choices, not their timing. */
export type LongRunOptions = Readonly<{ seconds: number; seed: string }>;

/** What runs if nothing else is asked for: ten minutes. */
export const longRunDefaults: LongRunOptions = { seconds: 600, seed: '1' };

const SESSIONS_PER_SECOND = 50;
const IDLE_SHARE = 0.1;
const IDLE_S_MIN = 10;
/** How long everything may take to be settled after the last kill; the shortest session ends within it. */
const SETTLE_MS_MAX = 400_000;
const LOOK_MS = 3000;
const BLOCK_TIME_MS = 300;
const POLL_MS = 1000;
const DUST_AMOUNT_MINOR = 100_000;
const DUSTY_TRIES = 20;
const LOG_FILE = '.tmp/long-run.log';

/** @throws Error if anything was lost or happened twice; it gives examples, and names the seed */
export async function benchLongRun({ seconds, seed }: LongRunOptions): Promise<Row[]> {
  const dataDir = mkdtempSync(join(tmpdir(), 'quayside-long-run-'));
  const told = new Map<string, Readonly<{ type: string; sessionId: string }>>();
  const merchant = await startMerchantServer((response, { body }) => {
    const { id, type, data } = JSON.parse(body) as {
      id: string;
      type: string;
      data: { object: { session_id: string } };
    };
    told.set(id, { type, sessionId: data.object.session_id });
    response.end('ok');
  });
  const sandbox = sandboxInstallation(dataDir, await variables());
  const supervisors: Supervisor[] = [];
  /** Nobody waits for it: orders are sent again until they are answered. */
  const startAgain = (): Supervisor => {
    const started = spawnSupervisor(sandbox.variables);
    supervisors.push(started);
    return started;
  };
  try {
    const supervisor = await sandbox.start();
    supervisors.push(supervisor);
    const { merchant_id: store = '' } = readCredentials(dataDir) ?? {};
    await sandbox.tool('webhooks', 'add', `${merchant.origin}/`, '--store', store, '--mode', 'test');
    const shop = openLongRunShop(dataDir, seed);
    const idleS = Math.max(IDLE_S_MIN, seconds * IDLE_SHARE);
    const selling = { perSecond: SESSIONS_PER_SECOND };
    const idle = await shop.sell({ name: 'idle', seconds: idleS, isPaid: false, ...selling });
    const dustTo = await addressForDust(shop);
    const stopping = new AbortController();
    const [busy, happened] = await Promise.all([
      shop.sell({ name: 'busy', seconds, isPaid: true, ...selling }).finally(() => stopping.abort()),
      makeTrouble({ dataDir, seed, seconds, dustTo, startAgain }, supervisor, stopping.signal),
    ]);
    const fromMs = performance.now();
    const found = await settle({ sandbox, dataDir, told, sales: shop.sales() });
    const settledS = (performance.now() - fromMs) / 1000;
    report({ idle, busy, happened, found, settledS });
    if (found.differences.length > 0) throw new Error(`seed ${seed}: ${found.differences.join('\n')}`);
    return [creation('idle', idle), creation('beside trouble', busy)];
  } finally {
    mkdirSync('.tmp', { recursive: true });
    writeFileSync(LOG_FILE, supervisors.map(({ stderr }) => stderr()).join(''));
    await endAll();
    await merchant.close();
    rmSync(dataDir, { recursive: true, force: true });
  }
}

/** Returns the address of a session on the network of the dust; its pool may have run empty just before. */
async function addressForDust(shop: ReturnType<typeof openLongRunShop>): Promise<string> {
  for (let n = 0; n < DUSTY_TRIES; n++) {
    const options = await shop.open(`dusty${n}`, DUST_AMOUNT_MINOR);
    const address = options.find(({ network }) => network === DUST_NETWORK)?.address;
    if (address !== undefined) return address;
    await systemClock.sleep(POLL_MS);
  }
  throw new Error(`${DUSTY_TRIES} sessions were not offered ${DUST_NETWORK}`);
}

/** The port stays the same, so that a supervisor that was started again is found. */
async function variables(): Promise<Record<string, string>> {
  const blockTimes = networkNames.flatMap((name) => {
    const prefix = `QUAYSIDE_NETWORKS__SANDBOX_${name.toUpperCase()}`;
    return [
      [`${prefix}__BLOCK_TIME_MS`, String(BLOCK_TIME_MS)],
      [`${prefix}__POLL_MS`, String(POLL_MS)],
    ];
  });
  return { ...Object.fromEntries(blockTimes), QUAYSIDE_PORT: String(await freePort()) };
}

type Settling = Readonly<{ sandbox: SandboxInstallation; dataDir: string; told: Told; sales: readonly Sale[] }>;

/** Looks until nothing differs any more, or for as long as it may take; then asks the ledger too. */
async function settle({ sandbox, ...from }: Settling): Promise<Audit> {
  const giveUpAtMs = performance.now() + SETTLE_MS_MAX;
  let found = audit({ ...from, env: sandbox.variables });
  while (found.differences.length > 0 && performance.now() < giveUpAtMs) {
    await systemClock.sleep(LOOK_MS);
    found = audit({ ...from, env: sandbox.variables });
  }
  const ledger = await sandbox.tool('ledger', 'verify').catch(String);
  if (ledger.balanced === true) return found;
  return { ...found, differences: [...found.differences, `ledger verify: ${JSON.stringify(ledger)}`] };
}

function creation(name: string, { answeredMs, waitedMs, failures }: Sold): Row {
  const at = (times: readonly number[], share: number) => round(quantile(times, share), 1);
  return {
    creation: name,
    sessions: answeredMs.length,
    p50: at(answeredMs, 0.5),
    p99: at(answeredMs, 0.99),
    max: at(answeredMs, 1),
    'with retries p99': at(waitedMs, 0.99),
    'with retries max': at(waitedMs, 1),
    'attempts failed': [...failures.values()].reduce((sum, count) => sum + count, 0),
  };
}

type Results = Readonly<{ idle: Sold; busy: Sold; happened: Happened; found: Audit; settledS: number }>;

function report({ idle, busy, happened, found, settledS }: Results): void {
  const listed = (counts: ReadonlyMap<string, number>) =>
    [...counts].map(([name, count]) => `${name} ${count}`).join(', ') || 'none';
  const { dust, flaps, reorgs, kills } = happened;
  show('POST /api/v1/checkout/sessions/create, in ms', [creation('idle', idle), creation('beside trouble', busy)]);
  show('Afterwards', [
    { transfers: found.transfers, 'dust sent': dust, flaps, reorgs, 'settled after s': round(settledS, 1) },
  ]);
  for (const [what, counts] of [
    ['killed', kills],
    ['failed attempts', busy.failures],
    ['sessions', found.outcomes],
  ] as const) {
    process.stdout.write(`  ${what}: ${listed(counts)}\n`);
  }
  const p99 = ({ answeredMs }: Sold) => quantile(answeredMs, 0.99);
  process.stdout.write(`  p99 of creation beside trouble: ${judgeP99(p99(idle), p99(busy))}\n`);
  process.stdout.write(`  differences: ${found.differences.join('\n    ') || 'none'}\n`);
}
