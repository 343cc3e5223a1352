/**
 * The configuration: read once, checked as a whole, frozen.
 */
import { resolve } from 'node:path';
import { isFields } from '../core/fields.ts';
import { deepFreeze } from '../lib/deep-freeze.ts';
import { check, configInvalid, type Problem } from './check.ts';
import { readLayers, readSandbox } from './layers.ts';
import { checkTogether, type NetworkConfig, type ReadNetwork, readNetworks } from './network.ts';
import { type GeneralSettings, generalSettings } from './schema.ts';
import { camelCased } from './setting.ts';

/** The signer's folder, with its socket, and the source of its passphrase; `external`: started by something else. */
export type SignerConfig = Readonly<{
  dir: string;
  unlock: Readonly<{ kind: 'prompt' | 'credential' | 'external' }> | Readonly<{ kind: 'file'; path: string }>;
}>;

/** The backup that is made by itself. */
export type ScheduledBackup = Readonly<{
  folder: string;
  passphraseFile: string;
  /** A program and its arguments, with `{file}` where it gets each backup's path; null: none. */
  send: readonly string[] | null;
}>;

/** Returns the settings that are used as they are, by their names in code. */
function plainOf(settings: GeneralSettings) {
  const { metrics_port, dashboard_port, dashboard_url, base_url, checkout_url, signer, ...others } = settings;
  const { backup, alarms, ...plain } = others;
  return camelCased(plain);
}

/** The settings, checked and completed. `config/descriptions.json` describes each one. */
export type Config = ReturnType<typeof plainOf> &
  Readonly<{
    metricsPort: number;
    dashboardPort: number;
    /** The dashboard's address in browsers, without a trailing slash. */
    dashboardUrl: string;
    /** The public base URL of payment pages and docs, without a trailing slash. */
    baseUrl: string;
    checkoutUrl: string;
    /** Null: this installation only receives money. */
    signer: SignerConfig | null;
    networks: readonly NetworkConfig[];
    backup: Readonly<{
      /** The time of day (UTC, `HH:MM`) at which it is made; null: only on request. */
      nightly: string | null;
      /** Null: nothing is configured. */
      scheduled: ScheduledBackup | null;
      /** The command that restores the standby's copy of the database; null: there is no standby. */
      standby: readonly string[] | null;
    }>;
    alarms: Readonly<{
      /** How long most troubles last before an alarm is raised. */
      patienceMs: number;
      diskFreeBytesMin: number;
    }>;
    /** All networks are simulated. */
    sandbox: boolean;
  }>;

/** Offsets from the API's port, of ports that are not configured. */
const METRICS_PORT_OFFSET = 1000;
const DASHBOARD_PORT_OFFSET = 1;

/**
 * Reads and checks the whole configuration; `config/README.md` describes every key.
 * @param from.env the environment; `QUAYSIDE_CONFIG` names the operator's file, without it the sandbox is configured
 * @param from.cwd folder that relative paths in variables are resolved from
 * @throws Fault permanent `config_invalid` whose message lists every problem, one per line, each with its path
 */
export function loadConfig(from: Readonly<{ env: NodeJS.ProcessEnv; cwd: string }>): Config {
  const { tree, origins, presets } = readLayers(from.env, from.cwd);
  const problems: Problem[] = [];
  const { networks: entries, ...rest } = tree;
  const general = check(problems, [], generalSettings, rest);
  const settings = isFields(entries) ? entries : {};
  const networks = readNetworks(problems, settings, presets, readSandbox(String(tree.data_dir)));
  checkTogether(problems, networks);
  if (general) checkBackup(problems, general.backup);
  if (general && problems.length === 0) return assemble(general, networks);
  throw configInvalid(problems, origins);
}

function checkBackup(problems: Problem[], { nightly, folder, passphrase_path }: GeneralSettings['backup']): void {
  const isWanted = nightly !== null || folder !== null || passphrase_path !== null;
  const missing = [...(folder === null ? ['folder'] : []), ...(passphrase_path === null ? ['passphrase_path'] : [])];
  if (!isWanted || missing.length === 0) return;
  const text = 'null, expected a path: scheduled backups need a folder and a file with their passphrase';
  for (const key of missing) problems.push({ path: `backup.${key}`, text });
}

/** Returns the configuration with ports that the system chose for port 0, and the URLs that follow them. */
export function withPorts(
  config: Config,
  ports: Partial<Pick<Config, 'port' | 'metricsPort' | 'dashboardPort'>>,
): Config {
  const bound = { ...config, ...ports };
  const follow = (url: string) => (url === defaultBaseUrl(config) ? defaultBaseUrl(bound) : url);
  const isLocal = config.dashboardUrl === localUrl(config.dashboardPort);
  return {
    ...bound,
    baseUrl: follow(config.baseUrl),
    checkoutUrl: follow(config.checkoutUrl),
    dashboardUrl: isLocal ? localUrl(bound.dashboardPort) : config.dashboardUrl,
  };
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
  const { nightly, folder, passphrase_path, send, standby } = backup;
  const from = (path: string) => resolve(data_dir, path);
  const scheduled = folder !== null &&
    passphrase_path !== null && {
      folder: from(folder),
      passphraseFile: from(passphrase_path),
      send,
    };
  return { nightly, scheduled: scheduled || null, standby };
}

function assemble(general: GeneralSettings, networks: readonly ReadNetwork[]): Config {
  const { port, alarms, metrics_port, dashboard_port, dashboard_url, base_url, checkout_url } = general;
  const baseUrl = base_url ?? defaultBaseUrl(general);
  const dashboardPort = dashboard_port ?? portBeside(port, DASHBOARD_PORT_OFFSET);
  return deepFreeze({
    ...plainOf(general),
    metricsPort: metrics_port ?? portBeside(port, METRICS_PORT_OFFSET),
    dashboardPort,
    dashboardUrl: dashboard_url ?? localUrl(dashboardPort),
    baseUrl,
    checkoutUrl: checkout_url ?? baseUrl,
    signer: toSigner(general),
    networks: networks.map(({ config }) => config),
    backup: toBackup(general),
    alarms: { patienceMs: alarms.patience_s * 1000, diskFreeBytesMin: alarms.disk_free_bytes_min },
    sandbox: networks.every(({ config }) => config.sandbox),
  });
}
