/**
 * `npm start` as a person runs it: in a folder of its own, on loopback, on the four simulated networks. Nothing of the
 * product is imported here; all that is known of it is what it prints and what its command answers.
 */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { installationFolder } from '../../../src/lib/installation.ts';
import { type KeyPair, makeCertificates } from '../../support/certificates.ts';
import { freePort } from '../../support/free-port.ts';
import { until } from '../../support/until.ts';
import type { Json } from './json.ts';

/** Fast blocks, so that nobody waits for depth and finality. */
const BLOCK_MS = 200;
/**
 * The documented schedule begins at two minutes. Here each delay is short: the first four double, as documented, and
 * all ten pass while the suite runs.
 */
export const RETRY_DELAYS_S = [1, 2, 4, 8, 1, 1, 1, 1, 1, 1];
const NETWORKS = ['TRON', 'ETHEREUM', 'BSC', 'SOLANA'];

/** What the first start prints. */
type Printed = Readonly<{
  baseUrl: string;
  merchantId: string;
  apiKey: string;
  apiSecret: string;
  webhookSecret: string;
}>;

export type Installation = Printed &
  Readonly<{
    tls: Tls;
    /** All that it has printed. */
    output(): string;
    /** Runs the operator's command with `--json`. @returns its answer @throws Error with what it printed */
    tool(...words: string[]): Promise<Json>;
    /** The defaults that it ships with. */
    shipped(): Json;
    stop(): Promise<void>;
  }>;

/** A server's certificate, and the authority that signed it: what `npm start` trusts besides the usual ones. */
type Tls = Readonly<{ server: KeyPair; authorityFile: string; authority: string }>;

export async function startInstallation(): Promise<Installation> {
  const folder = mkdtempSync(join(tmpdir(), 'quayside-conformance-'));
  const certificates = makeCertificates(folder, 'IP:127.0.0.1');
  const tls = { ...certificates, authority: readFileSync(certificates.authorityFile, 'utf8') };
  const env = await environment(join(folder, 'data'), tls.authorityFile);
  // A process group of its own: npm, and all that it starts.
  const child = spawn('npm', ['start'], {
    cwd: installationFolder,
    env,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const kill = () => killGroup(child);
  process.once('exit', kill);
  let text = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk) => {
      text += chunk;
    });
  }
  let hasEnded = false;
  const ended = new Promise<void>((done) => {
    child.once('exit', () => {
      hasEnded = true;
      done();
    });
  });
  const quayside = join(installationFolder, 'scripts/quayside.mjs');
  let printed: Printed | null = null;
  await until('npm start has printed its credentials', () => {
    if (hasEnded) throw new Error(`npm start ended:\n${text}`);
    printed = readPrinted(text);
    return printed !== null;
  });
  return {
    ...(printed as unknown as Printed),
    tls,
    output: () => text,
    shipped: () => JSON.parse(readFileSync(join(installationFolder, 'config/default.json'), 'utf8')),
    tool: (...words) => runTool([quayside, ...words, '--json'], env),
    async stop() {
      child.kill('SIGTERM');
      await ended;
      kill();
      process.off('exit', kill);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Settings as a person sets them: ports, a folder, fast blocks, and a source of rates that cannot be used. */
async function environment(dataDir: string, authorityFile: string): Promise<NodeJS.ProcessEnv> {
  const inherited = Object.entries(process.env).filter(([name]) => !/^(QUAYSIDE_|NODE_ENV|npm_)/.test(name));
  const blocks = NETWORKS.flatMap((name) =>
    ['BLOCK_TIME_MS', 'POLL_MS'].map((key) => [`QUAYSIDE_NETWORKS__SANDBOX_${name}__${key}`, String(BLOCK_MS)]),
  );
  const [port, metricsPort, dashboardPort] = await Promise.all([freePort(), freePort(), freePort()]);
  return {
    ...Object.fromEntries([...inherited, ...blocks]),
    PATH: `${dirname(process.execPath)}${delimiter}${process.env.PATH}`,
    NODE_EXTRA_CA_CERTS: authorityFile,
    QUAYSIDE_DATA_DIR: dataDir,
    QUAYSIDE_PORT: String(port),
    QUAYSIDE_METRICS_PORT: String(metricsPort),
    QUAYSIDE_DASHBOARD_PORT: String(dashboardPort),
    QUAYSIDE_WEBHOOKS__RETRY_DELAYS_S: RETRY_DELAYS_S.join(','),
    // It quotes RON. Out of reach it has no rate for it, and in reach it is alone, which is not enough either.
    QUAYSIDE_RATES__SOURCES: 'static,ecb',
  };
}

/** Returns the credentials of the first start's text, or null while they are not there. */
function readPrinted(text: string): Printed | null {
  const after = (label: string) => new RegExp(`^ +${label} +(\\S+)$`, 'm').exec(text)?.[1];
  const [baseUrl, merchantId, apiKey, apiSecret, webhookSecret] = [
    'base URL',
    'merchant id',
    'API key',
    'secret',
    'webhook secret',
  ].map(after);
  if (!baseUrl || !merchantId || !apiKey || !apiSecret || !webhookSecret || !text.includes('Try next')) return null;
  return { baseUrl, merchantId, apiKey, apiSecret, webhookSecret };
}

const runTool = (words: readonly string[], env: NodeJS.ProcessEnv): Promise<Json> =>
  new Promise((done, fail) => {
    execFile(process.execPath, words, { cwd: installationFolder, env }, (error, stdout, stderr) =>
      error ? fail(new Error(`quayside ${words.slice(1).join(' ')}: ${stderr}${stdout}`)) : done(JSON.parse(stdout)),
    );
  });

function killGroup({ pid }: ChildProcess): void {
  try {
    if (pid) process.kill(-pid, 'SIGKILL');
  } catch {
    // It has ended.
  }
}
