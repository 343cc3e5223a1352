/**
 * The server program: the merchants' API, the dashboard, exchange rates, address pools and metrics. The supervisor
 * (`npm start`) runs one.
 */
import './lib/runtime.ts';
import type { RequestListener } from 'node:http';
import { retireAfterGap, watchForGaps } from './addresses/gaps.ts';
import { startPool, WHILE_EMPTY } from './addresses/pool-keeper.ts';
import { networkOfEachPool, readPool } from './addresses/pool-level.ts';
import { createApp } from './api/app.ts';
import { refundForDoor } from './api/refunds.ts';
import { createForDoor, createPayment } from './api/session-service.ts';
import { backupsOf, readBackupReport } from './app/backup/report.ts';
import { type Listening, listen, listenersOf } from './app/http-server.ts';
import { createMetrics, type Metrics } from './app/metrics.ts';
import { issueEndpoint, issueKey, issueUsualStore } from './app/new-credentials.ts';
import { openDatabase } from './app/open-database.ts';
import { type ProgramParts, runProgram } from './app/program.ts';
import { ensureCredentials, makeSignInLink } from './app/sandbox-credentials.ts';
import { removeServerFile, writeServerFile } from './app/server-file.ts';
import { runWatches } from './app/watches/run.ts';
import { createCheckout } from './checkout/router.ts';
import { reachable, withPorts } from './config/config.ts';
import { Fault } from './core/fault.ts';
import { createDashboard } from './dashboard/app.ts';
import { createPasskeys } from './dashboard/passkeys.ts';
import { createPasswords } from './dashboard/passwords.ts';
import { languages } from './dashboard/texts.ts';
import type { Database } from './database/database.ts';
import { CHORES, underLease } from './database/leases.ts';
import { createDoors } from './doors/router.ts';
import { isLoopback } from './lib/address-range.ts';
import { aborted, systemClock } from './lib/clock.ts';
import { every, type Round } from './lib/every.ts';
import { createUrlGuard } from './lib/guard.ts';
import { holderOf } from './lib/holder.ts';
import { forOwnNames } from './lib/own-name.ts';
import { createSender } from './lib/sender.ts';
import { runNotices } from './notifications/courier.ts';
import { createSend } from './notifications/post.ts';
import { createTargetMaker } from './notifications/targets.ts';
import { createDestinationCheck } from './payments/destination.ts';
import { createRates, type Rates } from './rates/rates.ts';
import { openSources } from './rates/sources.ts';
import { keepSandboxAddresses } from './sandbox/operator/addresses.ts';
import { fundSandboxWallets } from './sandbox/operator/funding.ts';
import { createSimulator } from './sandbox/operator/simulator.ts';
import { attemptLimits } from './webhooks/format.ts';
import { sendTestEvent } from './webhooks/test-event.ts';

const RATES_MS = 60_000;
const SETTLE_MS = 1000;
const SETTLE_BATCH = 200;
/** How long running answers may take after the stop. Everything together ends before the supervisor kills it. */
const REQUESTS_PATIENCE_MS = 5000;
const METRICS_PATIENCE_MS = 500;
const FIRST_ADDRESSES_MS_MAX = 60_000;
const FIRST_ADDRESSES_POLL_MS = 50;

const clock = systemClock;

type Parts = ProgramParts & Readonly<{ database: Database; rates: Rates }>;

/** Runs everything until the signal, then stops it in an order that loses nothing that was answered. */
async function serve(parts: Parts, metrics: Metrics): Promise<void> {
  const { config, database, rates, log, signal } = parts;
  let bind = (_baseUrl: string) => {};
  const bound = new Promise<string>((resolve) => {
    bind = resolve;
  });
  const chores = underLease(
    { database, name: CHORES, holder: holderOf(config.dataDir, 'server'), clock, log },
    signal,
    (own, untilLost) => doChores({ ...parts, database: own, signal: untilLost }, bound),
  );
  const simulating = keepSandboxAddresses({ database, config, clock, log }, signal);
  // Before the API listens: until a changed xpub has addresses, those of the previous one would be given out.
  await Promise.race([firstAddresses(parts), chores]);
  const api = await listenForMerchants(parts, metrics);
  const operators = await listenForOperators(parts, metrics);
  const dashboard = await listenForPeople({ ...parts, config: withPorts(config, { port: api.port }) });
  const { baseUrl, dashboardUrl } = withPorts(config, { port: api.port, dashboardPort: dashboard.port });
  bind(baseUrl);
  const refresh = () => rates.refresh(signal);
  const asking = every(RATES_MS, refresh, { clock, log, signal, what: 'asking for rates' });
  const funding = fundSandboxWallets(config, clock, log, signal);
  const at = { dataDir: config.dataDir, baseUrl, nowMs: clock.nowMs() };
  const demo = config.sandbox ? await ensureCredentials(database, at) : null;
  const signInLink =
    demo && (isLoopback(config.host) || config.host === 'localhost')
      ? await makeSignInLink(database.people, { storeId: demo.merchant_id, dashboardUrl, nowMs: at.nowMs })
      : null;
  const stores = (await database.stores.list()).length;

  const host = reachable(config.metricsHost);
  writeServerFile(config.dataDir, {
    pid: process.pid,
    base_url: baseUrl,
    port: api.port,
    metrics_url: `http://${host}:${operators.port}`,
    dashboard_url: dashboardUrl,
  });
  const ports = { port: api.port, metricsPort: operators.port, dashboardPort: dashboard.port };
  process.send?.({ ready: true, ...ports, baseUrl, dashboardUrl, stores, signInLink });
  log.info({ baseUrl, metricsPort: operators.port }, 'the server is ready');

  await Promise.race([aborted(signal), chores]);
  log.info('the server is stopping');
  removeServerFile(config.dataDir);
  // All ports are free at once, also for the next start after the supervisor was killed.
  await Promise.all([
    api.close(REQUESTS_PATIENCE_MS),
    operators.close(METRICS_PATIENCE_MS),
    dashboard.close(METRICS_PATIENCE_MS),
  ]);
  await Promise.all([chores, simulating, funding, asking]);
}

/**
 * Does what one server does for the whole installation: fills address pools, and once the API listens, settles what is
 * due, watches, and sends notices. Ends with the signal; rejects when a pool can no longer be filled.
 * @param baseUrl once the API listens
 */
async function doChores(parts: Parts, baseUrl: Promise<string>): Promise<void> {
  const { config, database, rates, log, signal } = parts;
  const pool = startPool({ database, config, clock, log });
  const boundUrl = await Promise.race([baseUrl, aborted(signal), pool.ended]);
  if (!boundUrl) return pool.stop();
  const ways = { send: createSend(createUrlGuard(config.webhooks.allowCidrs), clock), mail: config.mail };
  const sender = new URL(boundUrl).host;
  const others = [
    settleDue(parts),
    watchForGaps({ addresses: database.addresses, clock, log }, signal),
    runWatches({ database, config, rates, clock, log }, signal),
    runNotices({ database, ways, clock, log, sender, signal }),
  ];
  await Promise.race([aborted(signal), pool.ended]);
  await Promise.all([...others, pool.stop()]);
}

async function listenForMerchants(
  { config, database, rates, log, signal }: Parts,
  metrics: Metrics,
): Promise<Listening> {
  const checkDestination = await createDestinationCheck(config);
  const guard = createUrlGuard(config.webhooks.allowCidrs);
  return listen(listenersOf(config).merchants, (port) => {
    const boundConfig = withPorts(config, { port });
    const hasSandbox = config.networks.some(({ sandbox }) => sandbox);
    const simulation = hasSandbox && { simulate: createSimulator({ sessions: database.sessions, config, clock }) };
    const creating = { database, config: boundConfig, rates, clock, log, checkWebhookUrl: guard.check };
    return createApp({
      ...creating,
      issueEndpoint,
      checkDestination,
      isDraining: () => signal.aborted,
      doors: createDoors({
        ...creating,
        createForDoor: (owner, order) => createForDoor(creating, owner, order),
        refundForDoor: (owner, refund) => refundForDoor({ database, clock, checkDestination }, owner, refund),
      }),
      pages: createCheckout({
        database,
        config: boundConfig,
        clock,
        log,
        checkDestination,
        signal,
        ...simulation,
      }),
      ...simulation,
      onAnswered: metrics.observe,
    });
  });
}

/** The dashboard, at an address of its own. */
async function listenForPeople({ config, database, rates, log }: Parts): Promise<Listening> {
  const passwords = createPasswords();
  const guard = createUrlGuard(config.webhooks.allowCidrs);
  const sender = createSender(guard, attemptLimits, clock);
  const checkDestination = await createDestinationCheck(config);
  const answerAt = (url: string) =>
    createDashboard({
      database,
      config,
      url,
      clock,
      log,
      languages,
      passwords,
      passkeys: createPasskeys(url, clock, database.people),
      issue: { key: issueKey, endpoint: issueEndpoint, store: issueUsualStore },
      checkDestination,
      checkWebhookUrl: guard.check,
      createPayment: (...order) =>
        createPayment({ database, config, rates, clock, log, checkWebhookUrl: guard.check }, ...order),
      sendTestEvent: (endpoint) => sendTestEvent({ database, sender, clock }, endpoint),
      newNotices: createTargetMaker({ ways: { send: createSend(guard, clock), mail: config.mail }, clock }),
      readBackups: () => backupsOf(readBackupReport(config.dataDir)),
    });
  return listen(listenersOf(config).people, (port) =>
    answerAt(withPorts(config, { dashboardPort: port }).dashboardUrl),
  );
}

/** `/metrics` for Prometheus and `/rates` for the operator's tool, on a port that is never shown to merchants. */
function listenForOperators({ config, rates }: Parts, metrics: Metrics): Promise<Listening> {
  const at = listenersOf(config).operators;
  const answer: RequestListener = async (request, response) => {
    const send = (status: number, type: string, text: string) =>
      response.writeHead(status, { 'content-type': type }).end(request.method === 'HEAD' ? undefined : text);
    try {
      if (request.url === '/rates') send(200, 'application/json', JSON.stringify(rates.status()));
      else if (request.url === '/metrics') {
        const { contentType, text } = await metrics.read();
        send(200, contentType, text);
      } else send(404, 'text/plain', 'not found; the paths are /metrics and /rates\n');
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      send(503, 'text/plain', `${error.message}\n`);
    }
  };
  return listen(at, () => forOwnNames(at.host, answer));
}

/** Waits until each pool has an address, within a limit: a new installation must derive some first. */
async function firstAddresses({ config, database, log, signal }: Parts): Promise<void> {
  const giveUpAtMs = clock.nowMs() + FIRST_ADDRESSES_MS_MAX;
  for (const network of networkOfEachPool(config.networks)) {
    for (;;) {
      const { free, imported } = await readPool(database.addresses, network);
      if (signal.aborted || free > 0 || (imported && !network.sandbox)) break;
      if (clock.nowMs() >= giveUpAtMs) {
        log.warn({ network: network.key }, `there are no deposit addresses yet; ${WHILE_EMPTY}`);
        break;
      }
      await clock.sleep(FIRST_ADDRESSES_POLL_MS, signal);
    }
  }
}

/** Settles due sessions and refunds once a second, including those that became due while nothing ran. */
function settleDue({ database, log, signal }: Parts): Promise<void> {
  const settle = async (): Promise<Round> => {
    const settled = await database.sessions.settleDue(clock.nowMs(), SETTLE_BATCH);
    const moved = await database.refunds.advance(clock.nowMs(), SETTLE_BATCH);
    return Math.max(settled, moved) >= SETTLE_BATCH ? 'again' : undefined;
  };
  return every(SETTLE_MS, settle, { clock, log, signal, what: 'settling due sessions and refunds' });
}

await runProgram('server', async (parts) => {
  const { config, log } = parts;
  let observeWrite: Metrics['observeWrite'] = () => {};
  const database = openDatabase(config, process.env, { onWrite: (measure) => observeWrite(measure) });
  try {
    await retireAfterGap({ addresses: database.addresses, clock, log });
    if (config.signer) {
      const networks = config.networks.map(({ key }) => key);
      await database.engines.settleIn(networks, clock.nowMs());
    }
    const rates = createRates({
      sources: openSources(config.rates),
      singleSource: config.rates.singleSource,
      clock,
      log,
    });
    const metrics = createMetrics({ database, config, rates, clock });
    observeWrite = metrics.observeWrite;
    await serve({ ...parts, database, rates }, metrics);
  } finally {
    database.close();
  }
});
