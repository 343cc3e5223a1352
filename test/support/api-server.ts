/**
 * The real API over real HTTP on a real SQLite file, with a clock that the test sets, static rates and one approved
 * store.
 */
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Express } from 'express';
import { createApp } from '../../src/api/app.ts';
import { refundForDoor } from '../../src/api/refunds.ts';
import { createForDoor } from '../../src/api/session-service.ts';
import { listen } from '../../src/app/http-server.ts';
import { defaultStoreSettings, issueEndpoint, issueKey, issueStore } from '../../src/app/new-credentials.ts';
import { chains } from '../../src/chains/index.ts';
import { createCheckout } from '../../src/checkout/router.ts';
import { type Config, loadConfig } from '../../src/config/config.ts';
import type { NetworkConfig } from '../../src/config/network.ts';
import { invariant } from '../../src/core/fault.ts';
import type { Mode } from '../../src/core/transfer.ts';
import { type Scope, type StoreSettings, scopes } from '../../src/database/column-values.ts';
import { type Database, openSqliteDatabase } from '../../src/database/database.ts';
import type { MerchantStore } from '../../src/database/stores.ts';
import { createDoors } from '../../src/doors/router.ts';
import { type Clock, systemClock } from '../../src/lib/clock.ts';
import { openLog } from '../../src/lib/log.ts';
import { readSecretKey } from '../../src/lib/secret-key.ts';
import { createAddressFormat, createDestinationCheck } from '../../src/payments/destination.ts';
import type { Simulate } from '../../src/payments/simulation.ts';
import { createRates } from '../../src/rates/rates.ts';
import type { RateSource } from '../../src/rates/source.ts';
import { staticRates } from '../../src/rates/static.ts';
import { createDatabaseFile } from './database-file.ts';
import { handClock } from './hand-clock.ts';
import { ingestedChain } from './ingested-chain.ts';
import { pageSettings } from './preset.ts';
import { type Credentials, signedClient } from './signed-client.ts';
import { testNetwork } from './test-network.ts';

export const token = (digit: string, symbol: 'USDT' | 'USDC', decimals: number) => ({
  symbol,
  address: `0x${digit.repeat(40)}`,
  decimals,
});

/** A network of that name; nothing answers at its URL. */
export const network = (mode: Mode, name: string, chainId: string, tokens: NetworkConfig['tokens']): NetworkConfig =>
  testNetwork({
    key: `${mode}:${name}`,
    name,
    mode,
    chainId,
    tokens,
    ...pageSettings(name),
    confirmations: name === 'bsc' ? [{ finality: 'finalized', usual: 15 }] : [{ blocks: 12 }],
    inclusionGraceS: 0,
    sandbox: false,
  });

/** Two test networks with both stablecoins, and a live one without USDC. */
export const usualNetworks: readonly NetworkConfig[] = [
  network('test', 'ethereum', '8401', [token('1', 'USDT', 6), token('2', 'USDC', 6)]),
  network('test', 'bsc', '8456', [token('3', 'USDT', 18), token('4', 'USDC', 18)]),
  network('live', 'ethereum', '1', [token('5', 'USDT', 6)]),
];

const staticTable = { EUR: '1.0834', JPY: '0.0066', KWD: '3.25', BTN: '0.0000012' };

export type TestKey = Omit<ReturnType<typeof issueKey>['row'], 'keyHash' | 'secret'> & Credentials;

export type ApiServer = Awaited<ReturnType<typeof startApi>>;

export type ApiServerOptions = Readonly<{
  limits?: Partial<Config['limits']>;
  /** Free addresses of the test pool. */
  addresses?: number;
  /** Whether blocks of the networks have been read; without any, a network offers nothing. */
  ready?: boolean;
  busyTimeoutMs?: number;
  networks?: readonly NetworkConfig[];
  checkoutUrl?: string;
  /** Instead of the static table, and under the same name. */
  rateSource?: RateSource;
  /** Serves the payment page too, at `checkoutUrl`; its live updates poll once a second of real time. */
  pages?: boolean;
  trustedProxies?: readonly string[];
  /** How the server waits before it refuses a page; it does not, unless said otherwise. */
  sleep?: Clock['sleep'];
  requestSignature?: Config['requestSignature'];
  mail?: Config['mail'];
  /** Serves the sandbox's call, which this answers. */
  simulate?: Simulate;
  /** Replaces the guard of webhook URLs, whose rules are tested elsewhere. */
  checkWebhookUrl?: (url: string, mode: Mode) => Promise<string | null>;
}>;

export async function startApi(options: ApiServerOptions = {}) {
  const networks = options.networks ?? usualNetworks;
  const folder = mkdtempSync(join(tmpdir(), 'quayside-api-'));
  const file = join(folder, 'quayside.db');
  // The first reading makes the key, because there is no database yet.
  readSecretKey(folder, {});
  createDatabaseFile(file);
  const open = () =>
    openSqliteDatabase({
      file,
      secretKey: readSecretKey(folder, {}),
      busyTimeoutMs: options.busyTimeoutMs ?? 2000,
      outageWaitS: 600,
      formatAddress: createAddressFormat({ networks }),
    });
  let database = open();

  const clock = handClock();
  const { log, logged } = loggedText();
  const rates = createRates({
    singleSource: [],
    // They end, as a provider's do.
    sources: [options.rateSource ?? { ...staticRates(staticTable), ageSMax: 400 * 86_400 }],
    clock,
    log,
  });
  await rates.refresh(new AbortController().signal);

  let app: Express | undefined;
  const anyPort = { host: '127.0.0.1', port: 0, setting: 'QUAYSIDE_PORT' };
  const server = await listen(anyPort, () => (request, response) => app?.(request, response));
  const baseUrl = `http://127.0.0.1:${server.port}`;
  const config = configOf(options, folder, baseUrl);
  // The application keeps its database; a proxy lets the test close and reopen the file under it.
  const current = new Proxy({} as Database, { get: (_, name) => Reflect.get(database, name) });
  let isDraining = false;
  const stopping = new AbortController();
  const checkDestination = await createDestinationCheck(config);
  const { checkWebhookUrl = async () => null, simulate } = options;
  const outside = { checkWebhookUrl, issueEndpoint, ...(simulate && { simulate }) };
  const shared = { database: current, config, log, checkDestination, ...outside };
  const creating = { ...shared, rates, clock };
  app = createApp({
    ...creating,
    clock: { ...clock, sleep: options.sleep ?? (async () => {}) },
    isDraining: () => isDraining,
    doors: createDoors({
      ...shared,
      clock,
      createForDoor: (owner, order) => createForDoor(creating, owner, order),
      refundForDoor: (owner, refund) => refundForDoor({ ...shared, clock }, owner, refund),
    }),
    ...(options.pages && {
      pages: createCheckout({
        ...shared,
        clock: { nowMs: clock.nowMs, sleep: systemClock.sleep },
        signal: stopping.signal,
      }),
    }),
  });

  /** Adds a store as the operator's tool does. */
  async function addMerchant(status: MerchantStore['status'] = 'approved', settings: Partial<StoreSettings> = {}) {
    const store = issueStore('A shop', { ...defaultStoreSettings, ...settings }, clock.nowMs());
    await database.stores.create({ ...store, status });
    return store.id;
  }
  async function addKey(storeId: string, mode: Mode, granted: readonly Scope[] = scopes): Promise<TestKey> {
    const { key, row } = issueKey(storeId, mode, granted, clock.nowMs());
    await database.keys.create(row);
    return { ...row, baseUrl, apiKey: key, apiSecret: row.secret };
  }
  await addPools(database, networks, options.addresses ?? 2000);
  const chainOf = new Map(networks.map((one) => [one.key, ingestedChain(() => database, clock, one)]));
  if (options.ready ?? true) for (const chain of chainOf.values()) await chain.mine();

  const merchantId = await addMerchant();
  const [testKey, liveKey] = [await addKey(merchantId, 'test'), await addKey(merchantId, 'live')];
  const client = (key: Credentials) => signedClient(key, clock.nowS, options.requestSignature === 'required');
  return {
    baseUrl,
    file,
    clock,
    /** Returns the database that the server uses now. */
    database: () => database,
    /** Closes the file and opens it again, as a restart does. */
    reopenDatabase() {
      database.close();
      database = open();
    },
    merchantId,
    testKey,
    liveKey,
    addMerchant,
    addKey,
    client,
    /** Creates a session outside of the API. */
    creating,
    /** The default client: the test key of the default store. */
    send: client(testKey).send,
    /** Returns a network's chain, of test mode unless said otherwise. */
    chain(name: string, mode: Mode = 'test') {
      const chain = chainOf.get(`${mode}:${name}`);
      invariant(chain, `there is a ${mode} network ${name}`);
      return chain;
    },
    /** Reports that every network is followed now, as after a step of the clock. */
    async follow() {
      for (const chain of chainOf.values()) await chain.report('following');
    },
    /** Returns everything that was logged, as text. */
    logged,
    /** Makes `/readyz` report that the process is stopping. */
    drain() {
      isDraining = true;
    },
    /** Stops the server; requests that are being answered have this long. */
    async close(patienceMs = 0) {
      stopping.abort();
      await server.close(patienceMs);
      database.close();
      rmSync(folder, { recursive: true });
    },
  };
}

/** Everything is kept. */
export const noRetention: Config['retention'] = { anonymiseDays: null };

/** The shipped settings, with limits that no test reaches by accident. */
function configOf(options: ApiServerOptions, dataDir: string, baseUrl: string): Config {
  const shipped = loadConfig({ env: {}, cwd: dataDir });
  return {
    ...shipped,
    dataDir,
    baseUrl,
    networks: options.networks ?? usualNetworks,
    sandbox: false,
    trustedProxies: options.trustedProxies ?? ['127.0.0.0/8'],
    checkoutUrl: options.checkoutUrl ?? (options.pages ? baseUrl : 'https://pay.shop.example'),
    requestSignature: options.requestSignature ?? 'optional',
    mail: options.mail ?? null,
    limits: {
      ...shipped.limits,
      requestsPerSecondPerKey: 100_000,
      requestsPerSecondPerAddress: 100_000,
      pagesPerSecondPerAddress: 100_000,
      ...options.limits,
    },
  };
}

/** Fills each family's pools: `testCount` addresses for test mode, and a few for live mode. */
async function addPools(database: Database, networks: readonly NetworkConfig[], testCount: number): Promise<void> {
  for (const family of new Set(networks.map((one) => one.family))) {
    for (const [mode, count] of [
      ['test', testCount],
      ['live', 50],
    ] as const) {
      const keys = Array.from({ length: count }, () => randomBytes(chains[family].address.keyBytes).toString('hex'));
      await database.addresses.add({ family, mode, source: 'test-source', firstIndex: 0, keys });
    }
  }
}

/** A log that keeps what is written to it. */
function loggedText() {
  const lines: string[] = [];
  const log = openLog('test', 'debug', (line) => void lines.push(line));
  return { log, logged: () => lines.join('') };
}

/** Starts a server for one test and stops it even if the test fails. */
export async function withApi(options: ApiServerOptions, use: (api: ApiServer) => Promise<void>): Promise<void> {
  const api = await startApi(options);
  try {
    await use(api);
  } finally {
    await api.close();
  }
}
