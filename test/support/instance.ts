/**
 * Whole installations: the real supervisor with its child processes, over given networks, in a temporary folder. Stores
 * and keys are created with the operator's tool, and requests are signed here, as a merchant would.
 */
import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as assert from 'uvu/assert';
import type { Tool } from '../../scripts/cli/command.ts';
import { quaysideTool } from '../../scripts/cli/quayside.ts';
import { signerTool } from '../../scripts/cli/signer-tool.ts';
import { type MerchantServer, startMerchantServer } from './merchant-server.ts';
import { type Supervisor, served, spawnSupervisor, toolAnswer } from './quayside-process.ts';
import { signature, signedClient } from './signed-client.ts';
import { until } from './until.ts';

/** Any JSON answer. */
// biome-ignore lint/suspicious/noExplicitAny: tests read answers freely and assert every field they use
export type Json = any;

/** Returns a process and its children, and the state of each as `ps` shows it. */
function processesOf(root: number): readonly Readonly<{ pid: number; state: string }>[] {
  const lines = execFileSync('ps', ['-A', '-o', 'pid=,ppid=,stat='], { encoding: 'utf8' }).trim().split('\n');
  return lines.flatMap((line) => {
    const [pid = '', parent = '', state = ''] = line.trim().split(/\s+/);
    return [Number(pid), Number(parent)].includes(root) ? [{ pid: Number(pid), state }] : [];
  });
}

export type Machine = ReturnType<typeof openMachine>;

/**
 * Prepares the data folder of a machine, which is not started.
 * @param settings the operator's file, without what is set here: folder, port and webhook allow-list
 * @param first has the secret key that all machines of one database share
 */
export function openMachine(settings: object, first?: Readonly<{ dataDir: string }>) {
  const dataDir = mkdtempSync(join(tmpdir(), 'quayside-instance-'));
  const file = join(dataDir, 'config.json');
  const own = { port: 0, data_dir: dataDir, webhooks: { allow_cidrs: ['127.0.0.0/8'] } };
  writeFileSync(file, JSON.stringify({ ...settings, ...own }));
  if (first) copyFileSync(join(first.dataDir, 'secret.key'), join(dataDir, 'secret.key'));
  const variables = { QUAYSIDE_CONFIG: file };
  const started: Supervisor[] = [];
  const running = () => started.find((one) => !one.hasEnded());
  const run = (tool: Tool, words: readonly string[]): Promise<Json> => toolAnswer(tool, words, variables);

  /** Ends everything as an operator would, with SIGTERM. @returns the exit code */
  const stop = async (): Promise<number | null> => running()?.end('SIGTERM') ?? null;

  return {
    dataDir,
    /** Returns what the server has written about itself. A restarted one has another port. */
    server: (): Json => JSON.parse(readFileSync(join(dataDir, 'server.json'), 'utf8')),
    /** Runs the operator's tool with `--json` and parses its answer. */
    cli: (...words: string[]) => run(quaysideTool, words),
    /** Runs the signer's tool likewise. */
    signer: (...words: string[]) => run(signerTool, words),
    /** All output of the processes on standard error and output. */
    output: () => started.map(({ stdout, stderr }) => stdout() + stderr()).join(''),
    /** Starts it, and waits until it serves. */
    async start(): Promise<Supervisor> {
      const supervisor = spawnSupervisor(variables);
      started.push(supervisor);
      await served(supervisor, dataDir);
      return supervisor;
    },
    stop,
    /** Ends all processes at once with SIGKILL. */
    async kill(): Promise<void> {
      const killed = running();
      if (!killed) return;
      for (const { pid } of processesOf(killed.pid)) process.kill(pid, 'SIGKILL');
      await killed.ended;
    },
    /** Does something while no process runs on, as the machine does that makes a snapshot of them. */
    async whileFrozen(work: () => void): Promise<void> {
      const supervisor = running()?.pid;
      if (supervisor === undefined) return work();
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
    },
    async close() {
      await stop();
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}

/** Adds a store with a key, of test mode. */
export async function addStore({ cli }: Pick<Machine, 'cli'>) {
  const store = await cli('store', 'add', 'Test store');
  const scopes = 'sessions:read,sessions:write,refunds:read,refunds:write';
  const key = await cli('key', 'create', '--store', store.id, '--mode', 'test', '--scopes', scopes);
  const credentials = { apiKey: key.api_key as string, apiSecret: key.api_secret as string };
  return {
    id: store.id as string,
    credentials,
    /** Returns a client that signs and sends to a machine. */
    clientOf: (machine: Pick<Machine, 'server'>) =>
      signedClient({ baseUrl: machine.server().base_url, ...credentials }),
  };
}

export type Instance = Awaited<ReturnType<typeof startInstance>>;

/** Starts a machine with a store whose endpoint, on loopback, gets extended events too. */
async function startInstance(settings: object, webhookUrl: string) {
  const machine = openMachine(settings);
  const store = await addStore(machine);
  const extended = ['payment.detected', 'payment.partially_paid', 'payment.late', 'payment.reversed'].join(',');
  const endpoint = ['webhook', 'add', webhookUrl, '--store', store.id, '--mode', 'test', '--events', extended];
  const { webhook_secret: webhookSecret } = await machine.cli(...endpoint);
  await machine.start();
  return {
    ...machine,
    merchantId: store.id,
    webhookSecret: webhookSecret as string,
    /** Signs and sends one API request. */
    async api(method: 'GET' | 'POST', path: string, body?: object): Promise<{ status: number; body: Json }> {
      const { status, json } = await store.clientOf(machine).send(method, path, body);
      return { status, body: json };
    },
  };
}

export type FlowShop = ReturnType<typeof openFlowShop>;

/**
 * Opens the merchant's shop: creates sessions by signed calls, watches them, and checks the webhooks that arrive.
 * @param merchant where the instance sends webhooks, at the path `/hook`
 */
function openFlowShop(quayside: Instance, merchant: MerchantServer) {
  let orders = 0;

  async function show(session: Json): Promise<Json> {
    const { status, body } = await quayside.api('GET', `/api/v1/checkout/sessions/${session.id}`);
    assert.is(status, 200, JSON.stringify(body));
    return body;
  }

  const waitFor = (what: string, session: Json, holds: (now: Json) => boolean) =>
    until(`session ${session.id} ${what}`, async () => holds(await show(session)));

  /** Returns the webhooks of one type that were received for a session. */
  const events = (session: Json, type: string): readonly Json[] =>
    merchant
      .on('/hook')
      .map(({ body }) => JSON.parse(body))
      .filter((event) => event.data.object.session_id === session.id && event.type === type);

  return {
    /** Creates a session over this many cents; in USD unless a currency is given. */
    async newSession(amount: number, more: Readonly<Record<string, unknown>> = {}): Promise<Json> {
      orders += 1;
      const request = { amount, currency: 'USD', order_id: `order-${orders}`, ...more };
      const { status, body } = await quayside.api('POST', '/api/v1/checkout/sessions/create', request);
      assert.is(status, 200, JSON.stringify(body));
      return body;
    },
    show,
    waitFor,
    waitForStatus: (session: Json, status: string) =>
      waitFor(`is ${status}`, session, (now) => now.payment_status === status),
    waitForSeen: (session: Json, payments = 1) =>
      waitFor(`shows ${payments} payment(s)`, session, (now) => now.payments.length === payments),
    events,
    /**
     * Returns the object of the one `payment.completed` of a session, after checking its signature by the documented
     * rule alone.
     */
    async completed(session: Json): Promise<Json> {
      await until(`session ${session.id} is announced`, () => events(session, 'payment.completed').length > 0);
      const [sent, ...others] = merchant
        .on('/hook')
        .filter(
          ({ body, headers }) => headers['x-service-event-type'] === 'payment.completed' && body.includes(session.id),
        );
      assert.is(others.length, 0, 'announced once');
      const { headers, body } = sent as NonNullable<typeof sent>;
      const [timestamp, nonce] = [String(headers['x-service-timestamp']), String(headers['x-service-nonce'])];
      assert.is(headers['x-service-signature'], signature(quayside.webhookSecret, timestamp, nonce, body));
      assert.is(headers['x-service-event-id'], JSON.parse(body).id);
      return JSON.parse(body).data.object;
    },
    /** Returns a network as `quayside status` shows it. */
    async statusOf(network: string): Promise<Json> {
      const { networks } = await quayside.cli('status');
      return networks.find((one: Json) => one.network === network);
    },
  };
}

export type FlowInstallation = Awaited<ReturnType<typeof openFlowInstallation>>;

/** Opens an installation and the server of its merchant. @param settings see `openMachine` */
export async function openFlowInstallation(settings: object) {
  const merchant = await startMerchantServer((response) => response.writeHead(200).end('{"received":true}'));
  const quayside = await startInstance(settings, `${merchant.origin}/hook`);
  return {
    quayside,
    shop: openFlowShop(quayside, merchant),
    async close() {
      await quayside.close();
      await merchant.close();
    },
  };
}
