/**
 * The configuration: read once, checked as a whole, frozen.
 */
import { resolve } from 'node:path';
import { isFields } from '../core/fields.ts';
import { deepFreeze } from '../lib/deep-freeze.ts';
import type { MailSettings } from '../lib/mail-server.ts';
import type { SourceName } from '../rates/source.ts';
import { check, configInvalid, type Problem } from './check.ts';
import { readLayers, readSandbox } from './layers.ts';
import { checkTogether, type NetworkConfig, type ReadNetwork, readNetworks } from './network.ts';
import { type GeneralSettings, generalSettings } from './schema.ts';

/** The signer's folder, with its socket, and the source of its passphrase; `external`: started by something else. */
export type SignerConfig = Readonly<{
  dir: string;
  unlock: Readonly<{ kind: 'prompt' | 'credential' | 'external' }> | Readonly<{ kind: 'file'; path: string }>;
}>;

/** The backup that is made by itself. */
export type ScheduledBackup = Readonly<{
  folder: string;
  passphraseFile: string;
  /** A program and its arguments, which gets each backup on its standard input; null: none. */
  send: readonly string[] | null;
}>;

export type Config = Readonly<{
  dataDir: string;
  host: string;
  port: number;
  /** Where `/metrics` and `/rates` are served. */
  metricsHost: string;
  metricsPort: number;
  dashboardPort: number;
  /** The dashboard's address in browsers, without a trailing slash. */
  dashboardUrl: string;
  /** Ranges of addresses whose `X-Forwarded-For` is believed. */
  trustedProxies: readonly string[];
  /** The public base URL of payment pages and docs, without a trailing slash. */
  baseUrl: string;
  checkoutUrl: string;
  securityContact: string | null;
  logLevel: string;
  /** Whether API requests must carry the signature that covers method, path and query. */
  requestSignature: 'optional' | 'required';
  /** Null: this installation only receives money. */
  signer: SignerConfig | null;
  networks: readonly NetworkConfig[];
  rates: Readonly<{
    sources: readonly SourceName[];
    /** Stablecoin per one unit of a currency, as decimal text, for the `static` source. */
    static: Readonly<Record<string, string>>;
    /** Currencies for which one source is enough. */
    singleSource: readonly string[];
  }>;
  webhooks: Readonly<{
    /** Private CIDR ranges that may be called. */
    allowCidrs: readonly string[];
    retryDelaysS: readonly number[];
  }>;
  comparison: Readonly<{
    /** The time of day (UTC, `HH:MM`) at which final blocks are compared with the database; null: never. */
    nightly: string | null;
  }>;
  backup: Readonly<{
    /** The time of day (UTC, `HH:MM`) at which it is made; null: only on request. */
    nightly: string | null;
    /** Null: nothing is configured. */
    scheduled: ScheduledBackup | null;
  }>;
  /** How long what is no longer needed is kept; null: for ever. */
  retention: Readonly<{
    /** What merchants sent about payers, after the end of the session and its refund window. */
    anonymiseDays: number | null;
    /** What merchants' servers answered. */
    attemptsDays: number | null;
  }>;
  limits: Readonly<{
    requestsPerSecondPerKey: number;
    requestsPerSecondPerAddress: number;
    /** Payment and refund pages. */
    pagesPerSecondPerAddress: number;
    poolTarget: number;
    blocksPerIngestMax: number;
    storageBytesMax: number | null;
  }>;
  /** Null: no mail is sent, but to those who are informed about alarms. */
  mail: MailSettings | null;
  alarms: Readonly<{
    /** How long most troubles last before an alarm is raised. */
    patienceMs: number;
    diskFreeBytesMin: number;
  }>;
  sandbox: boolean;
}>;

/** Offsets from the API's port, of ports that are not configured. */
const METRICS_PORT_OFFSET = 1000;
const DASHBOARD_PORT_OFFSET = 1;

/**
 * Reads and checks the whole configuration; `config/README.md` describes every key.
 * @param from.env the environment; `QUAYSIDE_CONFIG` names the operator's file, without it the sandbox is configured
 * @param from.cwd folder that relative paths in variables are resolved from
 * @param from.beforeSandbox true in programs that run before the sandbox: its networks get placeholder URLs and xpubs
 * @throws Fault permanent `config_invalid` whose message lists every problem, one per line, each with its path
 */
export function loadConfig(from: Readonly<{ env: NodeJS.ProcessEnv; cwd: string; beforeSandbox?: boolean }>): Config {
  const { tree, origins, presets, problems: unread } = readLayers(from.env, from.cwd);
  const problems: Problem[] = unread.map((text) => ({ path: '', text }));
  if (problems.length === 0) {
    const { networks: entries, ...rest } = tree;
    const general = check(problems, [], generalSettings, rest);
    const settings = isFields(entries) ? entries : {};
    const sandbox = from.beforeSandbox ? null : readSandbox(String(tree.data_dir));
    if (!from.beforeSandbox && !sandbox && Object.values(settings).some((entry) => isFields(entry) && entry.sandbox)) {
      problems.push({ path: '', text: `the sandbox has not started in ${tree.data_dir} yet: run \`npm start\` first` });
    }
    const networks = readNetworks(problems, settings, presets, sandbox);
    checkTogether(problems, networks);
    if (general) checkBackup(problems, general.backup);
    if (general && problems.length === 0) return assemble(general, networks);
  }
  throw configInvalid(problems, origins);
}

function checkBackup(problems: Problem[], { nightly, folder, passphrase_path }: GeneralSettings['backup']): void {
  const isWanted = nightly !== null || folder !== null || passphrase_path !== null;
  const missing = [...(folder === null ? ['folder'] : []), ...(passphrase_path === null ? ['passphrase_path'] : [])];
  if (!isWanted || missing.length === 0) return;
  const text = 'null, expected a path: scheduled backups need a folder and a file with their passphrase';
  for (const key of missing) problems.push({ path: `backup.${key}`, text });
}

/** Returns the configuration with ports that the system chose for port 0. */
export function withPorts(config: Config, ports: Pick<Config, 'port' | 'metricsPort' | 'dashboardPort'>): Config {
  const dashboardUrl = dashboardUrlAt(config, ports.dashboardPort);
  return { ...withPort(config, ports.port), ...ports, dashboardUrl };
}

/** Returns the configuration with the port of the API that the system chose for port 0. */
export function withPort(config: Config, port: number): Config {
  const follow = (url: string) => (url === defaultBaseUrl(config) ? defaultBaseUrl({ ...config, port }) : url);
  return { ...config, port, baseUrl: follow(config.baseUrl), checkoutUrl: follow(config.checkoutUrl) };
}

/** Returns the dashboard's address with the port that the system chose for port 0. */
export function dashboardUrlAt({ dashboardUrl, dashboardPort }: Config, port: number): string {
  return dashboardUrl === localUrl(dashboardPort) ? localUrl(port) : dashboardUrl;
}

/** Passkeys and cookies work on this name, not on an IP address. */
const localUrl = (port: number): string => `http://localhost:${port}`;

const portBeside = (port: number, offset: number): number => (port === 0 ? 0 : Math.min(port + offset, 65535));

/** Returns the base URL of a configuration without `base_url`. */
function defaultBaseUrl({ host, port }: Readonly<{ host: string; port: number }>): string {
  return `http://${reachable(host)}:${port}`;
}

/** Returns the name or address, as a URL has it, at which this machine reaches what listens on `host`. */
export function reachable(host: string): string {
  if (host === '0.0.0.0' || host === '::') return 'localhost';
  return host.includes(':') ? `[${host}]` : host;
}

/** Resolves relative paths from the data directory. */
function toSigner({ signer, data_dir }: GeneralSettings): SignerConfig | null {
  if (!signer) return null;
  const { dir, unlock } = signer;
  const from = (path: string) => resolve(data_dir, path);
  return {
    dir: from(dir),
    unlock: typeof unlock === 'string' ? { kind: unlock } : { kind: 'file', path: from(unlock.file) },
  };
}

/** Resolves relative paths from the data directory. */
function toBackup({ data_dir, backup }: GeneralSettings): Config['backup'] {
  const { nightly, folder, passphrase_path, send } = backup;
  const from = (path: string) => resolve(data_dir, path);
  const scheduled = folder !== null &&
    passphrase_path !== null && {
      folder: from(folder),
      passphraseFile: from(passphrase_path),
      send,
    };
  return { nightly, scheduled: scheduled || null };
}

function assemble(general: GeneralSettings, networks: readonly ReadNetwork[]): Config {
  const { host, port, rates, webhooks, retention, limits, alarms } = general;
  const baseUrl = general.base_url ?? defaultBaseUrl(general);
  const dashboardPort = general.dashboard_port ?? portBeside(port, DASHBOARD_PORT_OFFSET);
  return deepFreeze({
    dataDir: general.data_dir,
    host,
    port,
    metricsHost: general.metrics_host,
    metricsPort: general.metrics_port ?? portBeside(port, METRICS_PORT_OFFSET),
    dashboardPort,
    dashboardUrl: general.dashboard_url ?? localUrl(dashboardPort),
    trustedProxies: general.trusted_proxies,
    baseUrl,
    checkoutUrl: general.checkout_url ?? baseUrl,
    securityContact: general.security_contact,
    logLevel: general.log_level,
    requestSignature: general.request_signature,
    signer: toSigner(general),
    networks: networks.map(({ config }) => config),
    rates: {
      sources: rates.sources,
      static: rates.static,
      singleSource: rates.single_source,
    },
    webhooks: {
      allowCidrs: webhooks.allow_cidrs,
      retryDelaysS: webhooks.retry_delays_s,
    },
    comparison: general.comparison,
    backup: toBackup(general),
    retention: {
      anonymiseDays: retention.anonymise_days,
      attemptsDays: retention.attempts_days,
    },
    limits: {
      requestsPerSecondPerKey: limits.requests_per_second_per_key,
      requestsPerSecondPerAddress: limits.requests_per_second_per_address,
      pagesPerSecondPerAddress: limits.pages_per_second_per_address,
      poolTarget: limits.pool_target,
      blocksPerIngestMax: limits.blocks_per_ingest_max,
      storageBytesMax: limits.storage_bytes_max,
    },
    mail: general.mail && { server: general.mail.url, from: general.mail.from },
    alarms: {
      patienceMs: alarms.patience_s * 1000,
      diskFreeBytesMin: alarms.disk_free_bytes_min,
    },
    sandbox: networks.every(({ config }) => config.sandbox),
  });
}
