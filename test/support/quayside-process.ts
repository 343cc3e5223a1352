/**
 * `npm start` and the operator's tool as a person runs them: real programs, in a folder of their own, on loopback only.
 */
import { execFile } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Tool } from '../../scripts/cli/command.ts';
import { quaysideTool } from '../../scripts/cli/quayside.ts';
import { runTool } from '../../scripts/cli/tool.ts';
import { readCredentials } from '../../src/app/sandbox-credentials.ts';
import { readServerFile } from '../../src/app/server-file.ts';
import { readShipped, installationFolder as root } from '../../src/lib/installation.ts';
import { built } from './built.ts';
import { startProcess } from './processes.ts';
import { type SignedClient, signedClient } from './signed-client.ts';
import { until } from './until.ts';

export type Variables = Readonly<Record<string, string>>;

/** How a command ended. */
export type Ended = Readonly<{ code: number | null; stdout: string; stderr: string }>;

/** This process's environment without `QUAYSIDE_*` variables of its own. */
export function environment(variables: Variables): NodeJS.ProcessEnv {
  const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith('QUAYSIDE_'));
  return { ...Object.fromEntries(inherited), ...variables };
}

/**
 * Runs a program of the project to its end. @param words its source or script, relative to the project, and its
 * arguments
 */
export function runProgram(words: readonly string[], variables: Variables, cwd = root): Promise<Ended> {
  const [file = '', ...args] = words;
  const command = [file.endsWith('.ts') ? built(file) : join(root, file), ...args];
  return new Promise((done) => {
    execFile(process.execPath, command, { cwd, env: environment(variables) }, (error, stdout, stderr) => {
      const code = typeof error?.code === 'number' ? error.code : null;
      done({ code: error ? code : 0, stdout, stderr });
    });
  });
}

/**
 * Runs the operator's tool in this process, where most of its tests belong: one that starts the program proves the
 * rest.
 */
export const runQuayside = (words: readonly string[], variables: Variables, cwd = root) =>
  runTool(quaysideTool, words, environment(variables), cwd);

/**
 * Runs a tool with `--json` in this process.
 * @returns what it answered
 * @throws Error when it did not end with 0
 */
// biome-ignore lint/suspicious/noExplicitAny: tests look into answers freely and assert what they use
export async function toolAnswer(tool: Tool, words: readonly string[], variables: Variables): Promise<any> {
  const { code, out, err } = await runTool(tool, [...words, '--json'], environment(variables), root);
  // These two also exit with 1 about something broken that they show.
  const isShown = tool === quaysideTool && (words[0] === 'doctor' || (words[0] === 'show' && code === 1));
  if (code !== 0 && !isShown) throw new Error(`${tool.name} ${words.join(' ')} ended with ${code}: ${err}${out}`);
  return JSON.parse(out);
}

/** Runs `quayside doctor`. @throws Error if the ledger does not add up, or differs from the facts */
// biome-ignore lint/suspicious/noExplicitAny: the answer of any command
export async function expectBooks(tool: (...words: string[]) => Promise<any>): Promise<void> {
  const { findings } = await tool('doctor', '--without-nodes');
  const books = findings.filter(({ area }: Readonly<{ area: string }>) => area === 'ledger');
  if (books[0]?.severity !== 'ok') throw new Error(JSON.stringify(books.length > 0 ? books : findings));
}

/** Waits until `look` finds something. @throws Error naming `what` after five minutes */
export async function find<T>(what: string, look: () => Promise<T | null | undefined | false>): Promise<T> {
  let found: T | null | undefined | false;
  await until(what, async () => {
    found = await look();
    return Boolean(found);
  });
  return found as T;
}

export type Supervisor = ReturnType<typeof spawnSupervisor>;

/** Starts the supervisor, which starts its children, without waiting for anything. */
export const spawnSupervisor = (variables: Variables) =>
  startProcess(process.execPath, [built('src/main.ts')], { cwd: root, env: environment(variables) });

/** Waits until the server of a started installation is ready. @returns what it wrote about itself */
export const served = (supervisor: Supervisor, dataDir: string) =>
  find('the server is ready', async () => {
    if (supervisor.hasEnded()) throw new Error(`it ended:\n${supervisor.stdout()}${supervisor.stderr()}`);
    const running = readServerFile(dataDir);
    const isReady = running && (await fetch(`${running.base_url}/readyz`).catch(() => null))?.ok;
    return isReady && running;
  });

/** The parts of `quayside status --json` that tests use. */
export type Status = Readonly<{
  server: Readonly<{ pid: number; base_url: string }> | null;
  networks: readonly Readonly<{ network: string; state: string; pid: number }>[];
  pools: readonly Readonly<{ family: string; free: number; taken: number }>[];
  rates: readonly Readonly<{ source: string; fresh: boolean }>[] | null;
}>;

/** The parts of a session that tests use. */
export type SessionAnswer = Readonly<{
  id: string;
  url: string;
  payment_status: string;
  underpaid?: boolean;
  payments: readonly Readonly<{ amount: string; network: string }>[];
}>;

/** Blocks come faster than the sandbox shows them to people, so that nobody waits for depth and finality. */
const BLOCK_MS = 200;

const sandboxNetworks = ['tron', 'ethereum', 'bsc', 'solana'] as const;
type SandboxNetwork = (typeof sandboxNetworks)[number];

/**
 * Returns the variables with which each of the sandbox's networks makes a block at this interval. Blocks take a good
 * part of a core all the time, so a test that waits long for something else wants fewer.
 */
export const blocksEvery = (ms: number, networks: readonly SandboxNetwork[] = sandboxNetworks): Variables =>
  Object.fromEntries(
    networks.flatMap((name) =>
      ['BLOCK_TIME_MS', 'POLL_MS'].map((key) => [
        `QUAYSIDE_NETWORKS__SANDBOX_${name.toUpperCase()}__${key}`,
        String(ms),
      ]),
    ),
  );

/** Writes the settings of a sandbox that has these networks only. @returns the file's path */
function writeSettings(dataDir: string, networks: readonly SandboxNetwork[]): string {
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  const file = join(dataDir, 'settings.json');
  const own = { networks: Object.fromEntries(networks.map((name) => [`sandbox-${name}`, {}])) };
  writeFileSync(file, JSON.stringify({ ...readShipped<object>('config/sandbox.json'), ...own }), { mode: 0o600 });
  return file;
}

export type SandboxInstallation = ReturnType<typeof sandboxInstallation>;

/**
 * Prepares the sandbox of one data directory.
 * @param more further `QUAYSIDE_*` variables
 * @param networks those that it has, if not all four; each takes a process of its own
 */
export function sandboxInstallation(
  dataDir: string,
  more: Variables = {},
  networks: readonly SandboxNetwork[] = sandboxNetworks,
) {
  const own = { QUAYSIDE_DATA_DIR: dataDir, QUAYSIDE_PORT: '0', QUAYSIDE_LIMITS__POOL_TARGET: '40' };
  const settings = networks === sandboxNetworks ? {} : { QUAYSIDE_CONFIG: writeSettings(dataDir, networks) };
  const variables = { ...own, ...settings, ...blocksEvery(BLOCK_MS, networks), ...more };
  let orders = 0;

  /** Runs the operator's tool with `--json`. @returns what it answered @throws Error when it did not end with 0 */
  const tool = (...words: string[]) => toolAnswer(quaysideTool, words, variables);

  /** Returns the demo store's client. */
  function client(): SignedClient {
    const credentials = readCredentials(dataDir);
    if (!credentials) throw new Error(`there are no credentials in ${dataDir}`);
    const { base_url: baseUrl, api_key: apiKey, api_secret: apiSecret } = credentials;
    return signedClient({ baseUrl, apiKey, apiSecret });
  }

  /** One call as the demo store. */
  async function call(method: string, path: string, body?: object): Promise<SessionAnswer> {
    const { status, text, json } = await client().send(method, `/api/v1/${path}`, body);
    if (status !== 200) throw new Error(`${method} ${path}: ${status} ${text}`);
    return json as SessionAnswer;
  }

  const showSession = (id: string) => call('GET', `checkout/sessions/${id}`);
  const status = (): Promise<Status> => tool('status');

  return {
    variables,
    tool,
    status,
    client,
    showSession,
    /** Starts it and waits until requests are answered and every network is followed. A start that fails is ended. */
    async start(): Promise<Supervisor> {
      const supervisor = spawnSupervisor(variables);
      try {
        await find('the sandbox has introduced itself', async () => {
          if (supervisor.hasEnded()) throw new Error(`it ended at once: ${supervisor.stderr()}`);
          return supervisor.stdout().includes('Try next');
        });
        await served(supervisor, dataDir);
        await find('every network is followed', async () => {
          const { networks } = await status();
          return networks.length > 0 && networks.every(({ state }) => state === 'following');
        });
        return supervisor;
      } catch (error) {
        await supervisor.end('SIGTERM');
        throw error;
      }
    },
    createSession(currency = 'USD') {
      const order = { amount: 1050, currency, order_id: `order-${orders++}-${process.pid}` };
      return call('POST', 'checkout/sessions/create', order);
    },
    paid: (id: string) =>
      find(`session ${id} is paid`, async () => {
        const session = await showSession(id);
        return session.payment_status === 'paid' && session;
      }),
  };
}
