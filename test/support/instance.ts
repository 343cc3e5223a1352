/**
 * A whole Quayside: the real supervisor with its child processes, over given networks, in a temporary folder. Stores
 * and keys are created with the operator's tool and requests are signed here, as a merchant would.
 */
import { execFileSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Tool } from '../../scripts/cli/command.ts';
import { quaysideTool } from '../../scripts/cli/quayside.ts';
import { signerTool } from '../../scripts/cli/signer-tool.ts';
import { type Supervisor, served, spawnSupervisor, toolAnswer } from './quayside-process.ts';
import { signedClient } from './signed-client.ts';
import { until } from './until.ts';

/** Any JSON answer. */
// biome-ignore lint/suspicious/noExplicitAny: tests read answers freely and assert every field they use
export type Json = any;

export type Instance = Awaited<ReturnType<typeof startInstance>>;

/** Returns a process and its children, and the state of each as `ps` shows it. */
function processesOf(root: number): readonly Readonly<{ pid: number; state: string }>[] {
  const lines = execFileSync('ps', ['-A', '-o', 'pid=,ppid=,stat='], { encoding: 'utf8' }).trim().split('\n');
  return lines.flatMap((line) => {
    const [pid = '', parent = '', state = ''] = line.trim().split(/\s+/);
    return [Number(pid), Number(parent)].includes(root) ? [{ pid: Number(pid), state }] : [];
  });
}

/**
 * Starts an instance.
 * @param settings the operator's file, without what is set here: folder, port and webhook allow-list
 * @param webhookUrl endpoint of the store, on loopback; extended events are requested too
 */
export async function startInstance(settings: Readonly<Record<string, unknown>>, webhookUrl: string) {
  const dataDir = await mkdtemp(join(tmpdir(), 'quayside-instance-'));
  const file = join(dataDir, 'config.json');
  const own = { port: 0, data_dir: dataDir, webhooks: { allow_cidrs: ['127.0.0.0/8'] } };
  await writeFile(file, JSON.stringify({ ...settings, ...own }));
  const variables = { QUAYSIDE_CONFIG: file };
  const started: Supervisor[] = [];
  let running: Supervisor | null = null;
  let baseUrl = '';

  async function start(): Promise<void> {
    running = spawnSupervisor(variables);
    started.push(running);
    baseUrl = (await served(running, dataDir)).base_url;
  }

  /** Ends everything as an operator would, with SIGTERM. @returns the exit code */
  async function stop(): Promise<number | null> {
    const stopping = running;
    running = null;
    return stopping?.end('SIGTERM') ?? null;
  }

  /** Ends all processes at once with SIGKILL. */
  async function kill(): Promise<void> {
    const killed = running;
    running = null;
    if (!killed || killed.hasEnded()) return;
    for (const { pid } of processesOf(killed.pid)) process.kill(pid, 'SIGKILL');
    await killed.ended;
  }

  /** Does something while no process runs on, as the machine does that makes a snapshot of them. */
  async function whileFrozen(work: () => void): Promise<void> {
    if (!running || running.hasEnded()) return work();
    const { pid: supervisor } = running;
    // From then on it starts no other one.
    process.kill(supervisor, 'SIGSTOP');
    const frozen = processesOf(supervisor);
    try {
      for (const { pid } of frozen) process.kill(pid, 'SIGSTOP');
      await until('all of them are stopped', () => processesOf(supervisor).every(({ state }) => /^[TZ]/.test(state)));
      work();
    } finally {
      for (const { pid } of frozen) process.kill(pid, 'SIGCONT');
    }
  }

  const run = (tool: Tool, words: readonly string[]): Promise<Json> => toolAnswer(tool, words, variables);
  const cli = (...words: string[]) => run(quaysideTool, words);

  const store = await cli('store', 'add', 'Test store');
  const scopes = 'sessions:read,sessions:write,refunds:read,refunds:write';
  const key = await cli('key', 'create', '--store', store.id, '--mode', 'test', '--scopes', scopes);
  const extended = ['payment.detected', 'payment.partially_paid', 'payment.late', 'payment.reversed'].join(',');
  const endpoint = await cli('webhook', 'add', webhookUrl, '--store', store.id, '--mode', 'test', '--events', extended);
  await start();

  return {
    get baseUrl() {
      return baseUrl;
    },
    dataDir,
    merchantId: store.id as string,
    webhookSecret: endpoint.webhook_secret as string,
    /** Signs and sends one API request. */
    async api(method: 'GET' | 'POST', path: string, body?: object): Promise<{ status: number; body: Json }> {
      const client = signedClient({ baseUrl, apiKey: key.api_key, apiSecret: key.api_secret });
      const { status, json } = await client.send(method, path, body);
      return { status, body: json };
    },
    /** Runs the operator's tool with `--json` and parses its answer. */
    cli,
    /** Runs the signer's tool likewise. */
    signer: (...words: string[]) => run(signerTool, words),
    /** All output of the processes on standard error and output. */
    output: () => started.map(({ stdout, stderr }) => stdout() + stderr()).join(''),
    stop,
    kill,
    whileFrozen,
    start,
    async close() {
      await stop();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}
