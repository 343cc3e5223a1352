/**
 * A whole Quayside: the real supervisor with its child processes, over given networks, in a temporary folder. Stores
 * and keys are created with the operator's tool and requests are signed here, as a merchant would.
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { createHmac, randomUUID } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Tool } from '../../scripts/cli/command.ts';
import { quaysideTool } from '../../scripts/cli/quayside.ts';
import { signerTool } from '../../scripts/cli/signer-tool.ts';
import { runTool } from '../../scripts/cli/tool.ts';
import { installationFolder as root } from '../../src/lib/installation.ts';
import { built } from './built.ts';
import { until } from './until.ts';

/** Any JSON answer. */
// biome-ignore lint/suspicious/noExplicitAny: tests read answers freely and assert every field they use
export type Json = any;

export type Instance = Readonly<{
  baseUrl: string;
  dataDir: string;
  merchantId: string;
  webhookSecret: string;
  /** Signs and sends one API request. */
  api(method: 'GET' | 'POST', path: string, body?: unknown): Promise<{ status: number; body: Json }>;
  /** Runs the operator's tool with `--json` and parses its answer. */
  cli(...words: string[]): Promise<Json>;
  /** The same with the signer's tool. */
  signer(...words: string[]): Promise<Json>;
  /** All output of the processes on standard error and output. */
  output(): string;
  /**
   * Ends everything as an operator would, with SIGTERM.
   * @returns the exit code
   */
  stop(): Promise<number | null>;
  /** Ends all processes at once with SIGKILL. */
  kill(): Promise<void>;
  /** Does something while no process runs on, as the machine does that makes a snapshot of them. */
  whileFrozen(work: () => void): Promise<void>;
  start(): Promise<void>;
  close(): Promise<void>;
}>;

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
export async function startInstance(
  settings: Readonly<Record<string, unknown>>,
  webhookUrl: string,
): Promise<Instance> {
  const dataDir = await mkdtemp(join(tmpdir(), 'quayside-instance-'));
  const file = join(dataDir, 'config.json');
  const own = { port: 0, data_dir: dataDir, webhooks: { allow_cidrs: ['127.0.0.0/8'] } };
  await writeFile(file, JSON.stringify({ ...settings, ...own }));
  const env = { ...process.env, QUAYSIDE_CONFIG: file };
  let child: ChildProcess | null = null;
  // A test that fails before it closes the instance must not leave it running.
  process.once('exit', () => child?.kill('SIGKILL'));
  let output = '';
  let baseUrl = '';

  async function start(): Promise<void> {
    const started = spawn(process.execPath, [built('src/main.ts')], {
      cwd: root,
      env,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    child = started;
    for (const stream of [started.stdout, started.stderr]) {
      stream.on('data', (chunk) => {
        output += chunk;
      });
    }
    await until('the instance is ready', async () => {
      if (started.exitCode !== null) throw new Error(`the instance ended with ${started.exitCode}:\n${output}`);
      try {
        baseUrl = JSON.parse(await readFile(join(dataDir, 'server.json'), 'utf8')).base_url;
        return (await fetch(`${baseUrl}/readyz`)).status === 200;
      } catch {
        return false;
      }
    });
  }

  async function stop(): Promise<number | null> {
    const running = child;
    child = null;
    if (!running || running.exitCode !== null) return running?.exitCode ?? null;
    const ended = new Promise<number | null>((resolve) => running.once('exit', resolve));
    running.kill('SIGTERM');
    return ended;
  }

  async function kill(): Promise<void> {
    const running = child;
    child = null;
    if (!running?.pid || running.exitCode !== null) return;
    const ended = new Promise((resolve) => running.once('exit', resolve));
    for (const { pid } of processesOf(running.pid)) process.kill(pid, 'SIGKILL');
    await ended;
  }

  async function whileFrozen(work: () => void): Promise<void> {
    if (!child?.pid || child.exitCode !== null) return work();
    const { pid: supervisor } = child;
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

  async function run(tool: Tool, words: readonly string[]): Promise<Json> {
    const { code, out, err } = await runTool(tool, [...words, '--json'], env, root);
    // What `show` shows may be broken.
    const isShown = tool === quaysideTool && words[0] === 'show' && code === 1;
    if (code !== 0 && !isShown) throw new Error(`${tool.name} ${words.join(' ')} ended with ${code}: ${err}${out}`);
    return JSON.parse(out);
  }
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
    merchantId: store.id,
    webhookSecret: endpoint.webhook_secret,
    async api(method, path, body) {
      const text = body === undefined ? '' : JSON.stringify(body);
      const timestamp = String(Math.floor(Date.now() / 1000));
      const nonce = randomUUID();
      const response = await fetch(`${baseUrl}${path}`, {
        method,
        ...(text && { body: text }),
        headers: {
          ...(text && { 'content-type': 'application/json' }),
          authorization: `Bearer ${key.api_key}`,
          'x-service-timestamp': timestamp,
          'x-service-nonce': nonce,
          'x-service-signature': createHmac('sha256', key.api_secret)
            .update(`${timestamp}.${nonce}.${text}`)
            .digest('hex'),
        },
      });
      return { status: response.status, body: await response.json() };
    },
    cli,
    signer: (...words) => run(signerTool, words),
    output: () => output,
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
