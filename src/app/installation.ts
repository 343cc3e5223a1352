/** A running installation: the programs that the supervisor starts, in their order. */

import { chmodSync, existsSync, statSync } from 'node:fs';
import { type Config, loadConfig, type SignerConfig, withPorts } from '../config/config.ts';
import { permanent } from '../core/fault.ts';
import { takeInstanceLock } from '../database/engine/instance-lock.ts';
import { aborted, systemClock } from '../lib/clock.ts';
import { openLog } from '../lib/log.ts';
import { databaseFile, secretKeyFile } from '../lib/secret-key.ts';
import { collectStartGarbage } from '../lib/start-garbage.ts';
import { removeAbandoned } from './backup/scratch.ts';
import { refuseTakenPorts } from './http-server.ts';
import { atTimes, COMPARISON_TIME, daily, runOnce } from './nightly.ts';
import { prepareDatabase } from './prepare-database.ts';
import { RETENTION_TIME } from './retention.ts';
import { operatorBanner, safetyWarnings, sandboxBanner } from './startup-banner.ts';
import { type ChildSpec, type Supervised, supervise } from './supervisor.ts';

type Ports = Pick<Config, 'port' | 'metricsPort' | 'dashboardPort'>;
/** The server's message once it answers requests. */
type Serving = Ports & Readonly<{ baseUrl: string; dashboardUrl: string; stores: number; signInLink: string | null }>;
/** A child's message once it works, or before it ends because it cannot start. */
type Said<T> = (Readonly<{ ready: true }> & T) | Readonly<{ fault: Readonly<{ code: string; message: string }> }>;

/** The times at which the standby's copy is checked. */
const HOURLY = '0 * * * *';
/** The argument, of `npm start`, that asks for sample payments at the first start of a sandbox. */
const SAMPLES = '--samples';

const clock = systemClock;
const stopping = new AbortController();
for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => stopping.abort());
const stopped = aborted(stopping.signal);
/** All started children. */
const children: Supervised[] = [];
/** Work that ends by itself after a stop. */
const background: Promise<void>[] = [];
/** Promises that reject when a child that the others need is halted. */
const broken: Promise<never>[] = [];
const { env } = process;
/** The ports that the system has chosen, which a restarted server keeps. */
let ports: Ports | null = null;
let log = openLog('supervisor', 'info');

/**
 * Runs the installation until the process is asked to stop.
 * @throws Fault permanent when the configuration, the database, the sandbox or the server prevents it
 */
export async function runInstallation(): Promise<void> {
  const config = loadConfig({ env, cwd: process.cwd() });
  log = openLog('supervisor', config.logLevel);
  const release = takeInstanceLock(config.dataDir);
  try {
    const isNew = config.databaseUrl === null && !existsSync(databaseFile(config.dataDir));
    if (!stopping.signal.aborted) await run(config, isNew);
  } finally {
    // The signal also ends the background work if something else ended the run.
    stopping.abort();
    await Promise.all([...children.map((child) => child.stop()), ...background]);
    release();
  }
  say(['Quayside has stopped.']);
}

/** Closes a new data folder to other users. Another user's folder stays as it is, and `doctor` warns about it. */
function closeToOthers(dataDir: string): void {
  if (statSync(dataDir).uid === process.getuid?.()) chmodSync(dataDir, 0o700);
}

/** @throws Fault permanent when the sandbox or the server cannot start, now or later */
async function run(config: Config, isNew: boolean): Promise<void> {
  const { signer } = config;
  const simulated = config.networks.filter((network) => network.sandbox).map(({ name }) => name);
  const hasSandbox = simulated.length > 0;
  // A first start, or one that a person watches, names its long steps.
  const sayStep = (text: string) => (isNew || process.stdout.isTTY ? say([text]) : undefined);
  await refuseTakenPorts(config);
  if (isNew) closeToOthers(config.dataDir);
  if (isNew) sayStep(`Making a new installation in ${config.dataDir} …`);
  if (hasSandbox) sayStep(`Starting simulated networks (${simulated.join(', ')}) …`);
  const simulating = hasSandbox ? start('sandbox', '../sandbox/main.ts', () => config) : Promise.resolve(true);
  removeAbandoned(config.dataDir);
  await prepareDatabase(config, env, log);
  // Wait for the sandbox, which chooses the addresses of its nodes.
  if (!(await Promise.race([simulating, stopped]))) return;
  // While a person types the passphrase, no other process may write to the terminal, or look for the signer in vain.
  if (signer?.unlock.kind === 'prompt') {
    await Promise.race([startSigner(config.dataDir, signer, config.logLevel), stopped]);
    if (stopping.signal.aborted) return;
  }
  sayStep(isNew ? 'Deriving deposit addresses and starting the server …' : 'Starting the server …');
  const serving = start<Serving>('server', '../server.ts', currentConfig);
  startIndexers(config);
  const listening = await Promise.race([serving, stopped]);
  if (!listening) return;
  const { port, metricsPort, dashboardPort } = listening;
  ports = { port, metricsPort, dashboardPort };
  say(config.sandbox ? sandboxBanner(config, listening) : operatorBanner(config, listening));
  for (const { code, message } of safetyWarnings(config)) log.warn({ code }, message);
  startWebhooks();
  if (config.sandbox && isNew && process.argv.includes(SAMPLES))
    background.push(runToEnd('../../scripts/sample-payments.ts'));
  // Unlocking the keystore takes half a second of a core by design, and payments do not wait for it.
  if (signer && !['prompt', 'external'].includes(signer.unlock.kind)) {
    void startSigner(config.dataDir, signer, config.logLevel);
  }
  const { nightly, standby } = config.backup;
  if (!config.sandbox) runAt(daily(COMPARISON_TIME), '../../indexers/nightly.ts');
  if (nightly !== null) runAt(daily(nightly), '../../scripts/nightly-backup.ts');
  if (standby !== null) runAt(HOURLY, '../../scripts/standby-check.ts');
  runAt(daily(RETENTION_TIME), '../../scripts/nightly-retention.ts');
  background.push(collectStartGarbage(clock, stopping.signal));
  await Promise.race([stopped, ...broken]);
}

function startIndexers({ networks }: Config): void {
  for (const { key, family } of networks) {
    const onHalted = () => say([`The network ${key} is halted; the log above says why. Other networks continue.`]);
    const program = { module: at(`../../indexers/${family}.ts`), args: [key] };
    supervised({ name: `indexer ${key}`, ...program, settings: currentConfig, onHalted });
  }
}

/** Starts sending webhooks. People wait for the server, so it starts first. Events wait in the database. */
function startWebhooks(): void {
  const onHalted = () => say(['Webhooks are halted; the log above says why. Events wait; everything else continues.']);
  supervised({ name: 'webhooks', module: at('../webhooks/main.ts'), settings: currentConfig, onHalted });
}

/** Runs a program to its end. */
const runToEnd = (program: string): Promise<void> =>
  runOnce({ module: at(program), settings: currentConfig() }, log, stopping.signal);

/** Runs a program at the times of a cron expression. */
function runAt(times: string, program: string): void {
  background.push(atTimes(times, () => runToEnd(program), stopping.signal));
}

/** Reads the current settings. Returns null if they are invalid, so that the child itself reports the fault. */
function currentConfig(): Config | null {
  try {
    const config = loadConfig({ env, cwd: process.cwd() });
    return ports ? withPorts(config, ports) : config;
  } catch {
    return null;
  }
}

/**
 * Starts a child that the others need.
 * @returns its message when it is ready
 * @throws Fault permanent when it cannot start
 */
function start<T>(name: string, program: string, settings: () => Config | null): Promise<T> {
  let why = permanent('child_halted', `the ${name} cannot start; the log above says why`);
  const halted = new AbortController();
  const lost = new Promise<never>((_resolve, reject) => {
    halted.signal.addEventListener('abort', () => reject(why), { once: true });
  });
  broken.push(lost);
  const isReady = new Promise<T>((resolve) => {
    const onMessage = (message: unknown) => {
      const said = message as Said<T>;
      if ('fault' in said) why = permanent(said.fault.code, said.fault.message);
      else resolve(said);
    };
    supervised({ name, module: at(program), settings, onMessage, onHalted: () => halted.abort() });
  });
  return Promise.race([isReady, lost]);
}

/**
 * Starts the signer. Payments are received without it, so nothing else ends when it cannot start.
 * Resolves when it is unlocked or halted.
 */
function startSigner(dataDir: string, { dir, unlock }: SignerConfig, logLevel: string): Promise<void> {
  const how = unlock.kind === 'file' ? `file:${unlock.path}` : unlock.kind;
  const places = ['--dir', dir, '--secret-key-file', secretKeyFile(dataDir, env)];
  const args = [...places, '--unlock', how, '--log-level', logLevel];
  return new Promise((resolve) => {
    const onMessage = (message: unknown) => {
      if ('ready' in (message as Said<unknown>)) resolve();
    };
    const onHalted = () => {
      say(['The signer is halted; the log above says why. Payments are still received; refunds and sweeps wait.']);
      resolve();
    };
    supervised({ name: 'signer', module: at('../signer/main.ts'), args, onMessage, onHalted });
  });
}

/** @param program its source, from this folder */
const at = (program: string): URL => new URL(program, import.meta.url);

function supervised(spec: ChildSpec): void {
  children.push(supervise(spec, { clock, log }));
}

function say(lines: readonly string[]): void {
  process.stdout.write(`${lines.join('\n')}\n`);
}
