/**
 * The real API over real HTTP on a real SQLite file, with a clock that the test sets, static rates and one approved
 * store.
 */
import { createHash, randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Express } from 'express';
import { createApp } from '../../src/api/app.ts';
import { refundForDoor } from '../../src/api/refunds.ts';
import { createForDoor, type createPayment } from '../../src/api/session-service.ts';
import { listen } from '../../src/app/http-server.ts';
import { issueEndpoint } from '../../src/app/new-credentials.ts';
import { chains } from '../../src/chains/index.ts';
import { createCheckout } from '../../src/checkout/router.ts';
import type { Config } from '../../src/config/config.ts';
import type { NetworkConfig } from '../../src/config/network.ts';
import { invariant } from '../../src/core/fault.ts';
import type { Mode } from '../../src/core/transfer.ts';
import { type Scope, type StoreSettings, scopes } from '../../src/database/column-values.ts';
import { type Database, openSqliteDatabase } from '../../src/database/database.ts';
import type { NewApiKey } from '../../src/database/keys.ts';
import type { MerchantStore } from '../../src/database/stores.ts';
import { createDoors } from '../../src/doors/router.ts';
import { type Clock, systemClock } from '../../src/lib/clock.ts';
import { newWebhookSecret, randomBase62, sortableId } from '../../src/lib/id.ts';
import { openLog } from '../../src/lib/log.ts';
import { writeSecretFile } from '../../src/lib/secret-file.ts';
import { openSecretKey, secretKeyText } from '../../src/lib/secret-key.ts';
import { createAddressFormat, createDestinationCheck } from '../../src/payments/destination.ts';
import type { Simulate } from '../../src/payments/simulation.ts';
import { createRates } from '../../src/rates/rates.ts';
import type { RateSource } from '../../src/rates/source.ts';
import { staticRates } from '../../src/rates/static.ts';
import { createDatabaseFile } from './database-file.ts';
import { type HandClock, handClock } from './hand-clock.ts';
import { type IngestedChain, ingestedChain } from './ingested-chain.ts';
import { plainDustFloorPar, plainRateRules, plainSweepPolicy } from './plain-policies.ts';
import { pageSettings } from './preset.ts';
import { type Credentials, type SignedClient, signedClient } from './signed-client.ts';

export const token = (digit: string, symbol: 'USDT' | 'USDC', decimals: number) => ({
  symbol,
  address: `0x${digit.repeat(40)}`,
  decimals,
});

/** A network of that name; nothing answers at its URL. */
export const network = (mode: Mode, name: string, chainId: string, tokens: NetworkConfig['tokens']): NetworkConfig => ({
  key: `${mode}:${name}`,
  name,
  family: 'evm',
  mode,
  url: 'ws://127.0.0.1:1',
  ...pageSettings(name),
  wallets: {},
  dustFloorPar: plainDustFloorPar,
  chainId,
  confirmations: name === 'bsc' ? [{ finality: 'finalized', usual: 15 }] : [{ blocks: 12 }],
  tokens,
  xpub: '',
  blockTimeMs: 1000,
  inclusionGraceS: 0,
  reorgDepthMax: 64,
  pollMs: 1000,
  sweep: plainSweepPolicy,
  sandbox: false,
});

/** Two test networks with both stablecoins, and a live one without USDC. */
export const usualNetworks: readonly NetworkConfig[] = [
  network('test', 'ethereum', '8401', [token('1', 'USDT', 6), token('2', 'USDC', 6)]),
  network('test', 'bsc', '8456', [token('3', 'USDT', 18), token('4', 'USDC', 18)]),
  network('live', 'ethereum', '1', [token('5', 'USDT', 6)]),
];

const staticTable = { EUR: '1.0834', JPY: '0.0066', KWD: '3.25', BTN: '0.0000012' };

const plainSettings: StoreSettings = {
  settlementCurrency: 'USDT',
  toleranceMinor: 0,
  topUpGraceS: 1800,
  monitoringS: 604_800,
  latePolicy: 'hold',
  credit: '',
};

export type TestKey = Omit<NewApiKey, 'keyHash' | 'secret'> & Credentials;

type KeyLife = Pick<NewApiKey, 'expiresAtMs' | 'sources'>;

export type ApiServer = Readonly<{
  baseUrl: string;
  file: string;
  clock: HandClock;
  /** The database that the server uses now. */
  database(): Database;
  /** Closes the file and opens it again, as a restart does. */
  reopenDatabase(): void;
  merchantId: string;
  /** What creates a session outside of the API. */
  creating: Parameters<typeof createPayment>[0];
  /** The installation's. */
  secretKey: Uint8Array;
  testKey: TestKey;
  liveKey: TestKey;
  addMerchant(status?: MerchantStore['status'], settings?: Partial<StoreSettings>): Promise<string>;
  addKey(storeId: string, mode: Mode, scopes?: readonly Scope[], life?: KeyLife): Promise<TestKey>;
  client(key: Credentials): SignedClient;
  /** The default client: the test key of the default store. */
  send: SignedClient['send'];
  /** A network's chain, of test mode unless said otherwise. */
  chain(name: string, mode?: Mode): IngestedChain;
  /** Reports that every network is followed now, as after a step of the clock. */
  follow(): Promise<void>;
  /** Everything that was logged, as text. */
  logged(): string;
  /** Makes `/readyz` report that the process is stopping. */
  drain(): void;
  /** Stops the server; requests that are being answered have this long. */
  close(patienceMs?: number): Promise<void>;
}>;

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

/** Makes the key's file of a new installation. */
function makeKeyFile(folder: string) {
  const secretKey = new Uint8Array(randomBytes(32));
  const keyFile = join(folder, 'secret.key');
  writeSecretFile(keyFile, secretKeyText(secretKey));
  return { secretKey, keyFile };
}

export async function startApi(options: ApiServerOptions = {}): Promise<ApiServer> {
  const networks = options.networks ?? usualNetworks;
  const folder = mkdtempSync(join(tmpdir(), 'quayside-api-'));
  const file = join(folder, 'quayside.db');
  const { secretKey, keyFile } = makeKeyFile(folder);
  createDatabaseFile(file);
  const open = () =>
    openSqliteDatabase({
      file,
      secretKey: openSecretKey(keyFile),
      busyTimeoutMs: options.busyTimeoutMs ?? 2000,
      bytesMax: null,
      outageWaitS: 600,
      formatAddress: createAddressFormat({ networks }),
    });
  let database = open();

  const clock = handClock();
  const { log, logged } = loggedText();
  const rates = createRates({
    ...plainRateRules,
    sources: [options.rateSource ?? staticRates(staticTable)],
    refresh: '0 0 1 1 *',
    ageSMax: { static: 400 * 86_400 },
    clock,
    log,
  });
  await rates.start();

  let app: Express | undefined;
  const anyPort = { host: '127.0.0.1', port: 0, setting: 'QUAYSIDE_PORT', proxies: ['127.0.0.0/8'] };
  const server = await listen(anyPort, systemClock, () => (request, response) => app?.(request, response));
  const baseUrl = `http://127.0.0.1:${server.port}`;
  const config = configOf(options, folder, baseUrl, networks);
  // The application keeps its database; a proxy lets the test close and reopen the file under it.
  const current = new Proxy({} as Database, { get: (_, name) => Reflect.get(database, name) });
  let isDraining = false;
  const stopping = new AbortController();
  const checkDestination = await createDestinationCheck(config);
  const pageClock: Clock = { nowMs: clock.nowMs, sleep: systemClock.sleep };
  const shared = { database: current, config, log, checkDestination };
  app = createApp({
    ...shared,
    rates,
    clock: { ...clock, sleep: options.sleep ?? (async () => {}) },
    ...outsideOf(options),
    isDraining: () => isDraining,
    doors: createDoors({
      ...{ ...shared, ...outsideOf(options), clock },
      createForDoor: (owner, order) => createForDoor({ ...shared, rates, clock, ...outsideOf(options) }, owner, order),
      refundForDoor: (owner, refund) => refundForDoor({ ...shared, ...outsideOf(options), clock }, owner, refund),
    }),
    ...(options.pages && { pages: createCheckout({ ...shared, clock: pageClock, signal: stopping.signal }) }),
  });

  const { addMerchant, addKey } = merchantsOf(() => database, clock, baseUrl);
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
    database: () => database,
    reopenDatabase() {
      database.close();
      database = open();
    },
    secretKey,
    merchantId,
    testKey,
    liveKey,
    addMerchant,
    addKey,
    client,
    creating: { ...shared, rates, clock, ...outsideOf(options) },
    send: client(testKey).send,
    chain(name, mode = 'test') {
      const chain = chainOf.get(`${mode}:${name}`);
      invariant(chain, `there is a ${mode} network ${name}`);
      return chain;
    },
    async follow() {
      for (const chain of chainOf.values()) await chain.report('following');
    },
    logged,
    drain() {
      isDraining = true;
    },
    async close(patienceMs = 0) {
      stopping.abort();
      await rates.stop();
      await server.close(patienceMs);
      database.close();
      rmSync(folder, { recursive: true });
    },
  };
}

/** What an installation makes for the API, or a test in its place. */
const outsideOf = ({ checkWebhookUrl = async () => null, simulate }: ApiServerOptions) => ({
  checkWebhookUrl,
  issueEndpoint,
  ...(simulate && { simulate }),
});

/** Everything is kept. */
export const noRetention: Config['retention'] = {
  anonymiseDays: null,
};

const configOf = (
  options: ApiServerOptions,
  dataDir: string,
  baseUrl: string,
  networks: readonly NetworkConfig[],
): Config => ({
  dataDir,
  databaseUrl: null,
  host: '127.0.0.1',
  port: 0,
  metricsHost: '127.0.0.1',
  metricsPort: 0,
  dashboardPort: 0,
  dashboardUrl: 'http://localhost:0',
  trustedProxies: options.trustedProxies ?? ['127.0.0.0/8'],
  baseUrl,
  checkoutUrl: options.checkoutUrl ?? (options.pages ? baseUrl : 'https://pay.shop.example'),
  logLevel: 'debug',
  requestSignature: options.requestSignature ?? 'optional',
  signer: null,
  networks,
  rates: { sources: ['static'], static: staticTable, singleSource: [] },
  webhooks: { allowCidrs: [], retryDelaysS: [] },
  backup: { nightly: null, scheduled: null, standby: null },
  retention: noRetention,
  mail: options.mail ?? null,
  alarms: { patienceMs: 300_000, diskFreeBytesMin: 0 },
  limits: {
    requestsPerSecondPerKey: 100_000,
    requestsPerSecondPerAddress: 100_000,
    pagesPerSecondPerAddress: 100_000,
    poolTarget: 0,
    blocksPerIngestMax: 64,
    storageBytesMax: null,
    ...options.limits,
  },
  sandbox: false,
});

/** Adds stores and keys as the operator's tool does. */
function merchantsOf(database: () => Database, clock: HandClock, baseUrl: string) {
  const addMerchant = async (status: MerchantStore['status'] = 'approved', settings: Partial<StoreSettings> = {}) => {
    const id = `mer_${sortableId(clock.nowMs())}`;
    await database().stores.create({
      id,
      name: 'A shop',
      status,

      settings: { ...plainSettings, ...settings },
      zone: 'UTC',
      webhookSecrets: { live: newWebhookSecret(), test: newWebhookSecret() },
      createdAtMs: clock.nowMs(),
    });
    return id;
  };
  const addKey = async (
    storeId: string,
    mode: Mode,
    granted: readonly Scope[] = scopes,
    life: KeyLife = {},
  ): Promise<TestKey> => {
    const apiKey = `sk_${mode}_${randomBase62(32)}`;
    const apiSecret = `ss_${randomBase62(40)}`;
    const key: Omit<NewApiKey, 'keyHash' | 'secret'> = {
      id: `key_${sortableId(clock.nowMs())}`,
      storeId,
      mode,
      hint: 'sk_…',
      scopes: granted,
      createdAtMs: clock.nowMs(),
      revokedAtMs: null,
      ...life,
    };
    const keyHash = createHash('sha256').update(apiKey).digest('hex');
    await database().keys.create({ ...key, keyHash, secret: apiSecret });
    return { ...key, baseUrl, apiKey, apiSecret };
  };
  return { addMerchant, addKey };
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
