/**
 * A real EVM node for tests: Foundry's anvil as a child process on a loopback port, with its chain kept across
 * restarts.
 *
 *   const anvil = await startAnvil({ chainId: 1 });
 *   const token = await deployToken(anvil, { symbol: 'USDC', decimals: 6 });   // test/support/contracts.ts
 *   await token.transfer(payee, 5_000_000n);
 *   await anvil.mine();
 *   …
 *   await anvil.close();
 *
 * Blocks are mined by hand unless `mining` says otherwise. The accounts are those of the well-known test mnemonic "test
 * test test test test test test test test test test junk" and are unlocked, so that nothing needs signing.
 *
 * @module
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const ANSWER_WAIT_MS_MAX = 30_000;

export type AnvilOptions = Readonly<{
  chainId: number;
  /** `manual`: only `mine()` makes blocks. `auto`: each transaction makes one. `everyS`: a block at this interval. */
  mining?: 'manual' | 'auto' | Readonly<{ everyS: number }>;
  /** anvil calls a block final when two epochs of this many blocks are on top of it; 32 by default, as on Ethereum. */
  slotsInAnEpoch?: number;
}>;

/**
 * A transaction from one of the unlocked accounts; quantities are `0x` hex. Gas is given, so that reverting calls are
 * mined too.
 */
export type TransactionRequest = Readonly<{
  from?: string;
  to?: string;
  data?: string;
  value?: string;
  gas?: string;
  maxPriorityFeePerGas?: string;
  maxFeePerGas?: string;
}>;

export type AnvilReceipt = Readonly<{
  status: string;
  blockHash: string;
  blockNumber: string;
  contractAddress: string | null;
  logs: readonly Readonly<{ address: string; logIndex: string; data: string; topics: readonly string[] }>[];
}>;

export type Anvil = Readonly<{
  chainId: number;
  httpUrl: string;
  wsUrl: string;
  /** Ten funded, unlocked addresses; the first one deploys and sends by default. */
  accounts: readonly string[];
  /** One JSON-RPC call; an error in the answer is thrown with its code and message. */
  rpc<T = unknown>(method: string, params?: readonly unknown[]): Promise<T>;
  /** Puts a transaction into the pool (or mines it at once in `auto`) and returns its hash. */
  send(request: TransactionRequest): Promise<string>;
  /** Sends a signed transaction again, as `reorg` returned it. */
  sendRaw(raw: string): Promise<string>;
  /** Mines this many blocks; the first takes what is in the pool, highest fee first. */
  mine(blocks?: number): Promise<void>;
  head(): Promise<Readonly<{ number: number; hash: string }>>;
  /** The receipt of a mined transaction, null while it is not in the chain. */
  receipt(tx: string): Promise<AnvilReceipt | null>;
  /**
   * Replaces the newest `depth` blocks with as many empty ones.
   * @returns the signed transactions that were dropped, oldest first; pass them to `sendRaw` to have them mined again
   */
  reorg(depth: number): Promise<readonly string[]>;
  /** Ends the process in an orderly way; the chain is kept. Connections break. */
  stop(): Promise<void>;
  /** Starts it again on the same port with the same chain. */
  start(): Promise<void>;
  /** Ends the process and removes its files. Must be called once at the end. */
  close(): Promise<void>;
}>;

/** Returns the path of anvil's own binary: npm's wrapper script would intercept signals. */
function binary(): string {
  const platform = process.platform;
  const arch = process.arch === 'x64' ? 'amd64' : process.arch;
  const name = platform === 'win32' ? 'anvil.exe' : 'anvil';
  const packages = join(dirname(fileURLToPath(import.meta.url)), '../../node_modules/@foundry-rs');
  const path = join(packages, `anvil-${platform}-${arch}`, 'bin', name);
  if (!existsSync(path)) throw new Error(`no anvil at ${path}: run npm ci with optional dependencies`);
  return path;
}

/** Returns a port that was free a moment ago. */
async function freePort(): Promise<number> {
  const probe = createServer();
  await new Promise<void>((resolve) => probe.listen(0, '127.0.0.1', resolve));
  const address = probe.address();
  await new Promise((resolve) => probe.close(resolve));
  if (!address || typeof address === 'string') throw new Error('no free port');
  return address.port;
}

async function call(url: string, method: string, params: readonly unknown[]): Promise<unknown> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
  });
  const answer = (await response.json()) as { result?: unknown; error?: { code: number; message: string } };
  if (answer.error) throw new Error(`anvil ${method}: ${answer.error.code} ${answer.error.message}`);
  return answer.result;
}

/** Starts anvil and waits until it answers. */
export async function startAnvil(options: AnvilOptions): Promise<Anvil> {
  const home = await mkdtemp(join(tmpdir(), 'quayside-anvil-'));
  const port = await freePort();
  const httpUrl = `http://127.0.0.1:${port}`;
  const mining = options.mining ?? 'manual';
  const args = [
    ...['--port', String(port), '--chain-id', String(options.chainId), '--quiet'],
    // Without the historical states a restarted anvil could not reorg.
    ...['--state', join(home, 'state.json'), '--preserve-historical-states'],
    ...(options.slotsInAnEpoch ? ['--slots-in-an-epoch', String(options.slotsInAnEpoch)] : []),
    ...(mining === 'manual' ? ['--no-mining'] : mining === 'auto' ? [] : ['--block-time', String(mining.everyS)]),
  ];
  let child: ChildProcess | null = null;
  // A test that fails before it closes the node must not leave it running.
  process.once('exit', () => child?.kill('SIGKILL'));

  async function start(): Promise<void> {
    // HOME: anvil keeps scratch files there.
    const started = spawn(binary(), args, {
      env: { ...process.env, HOME: home },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    child = started;
    let complaint = '';
    started.stderr.on('data', (chunk) => {
      complaint = (complaint + chunk).slice(-2_000);
    });
    const deadline = performance.now() + ANSWER_WAIT_MS_MAX;
    for (;;) {
      if (started.exitCode !== null) throw new Error(`anvil ended with ${started.exitCode}: ${complaint}`);
      try {
        await call(httpUrl, 'eth_chainId', []);
        return;
      } catch (error) {
        if (performance.now() > deadline) throw new Error(`anvil does not answer at ${httpUrl}`, { cause: error });
        await wait(15);
      }
    }
  }

  async function stop(): Promise<void> {
    const running = child;
    child = null;
    if (!running || running.exitCode !== null) return;
    const ended = new Promise((resolve) => running.once('exit', resolve));
    running.kill('SIGTERM');
    await ended;
  }

  const rpc = async <T>(method: string, params: readonly unknown[] = []) => (await call(httpUrl, method, params)) as T;
  type Head = { number: string; hash: string };
  const head = async () => {
    const block = await rpc<Head>('eth_getBlockByNumber', ['latest', false]);
    return { number: Number(block.number), hash: block.hash };
  };

  await start();
  const accounts = await rpc<string[]>('eth_accounts');
  return {
    chainId: options.chainId,
    httpUrl,
    wsUrl: `ws://127.0.0.1:${port}`,
    accounts,
    rpc,
    send: (request) => rpc<string>('eth_sendTransaction', [{ from: accounts[0], gas: '0x7a120', ...request }]),
    sendRaw: (raw) => rpc<string>('eth_sendRawTransaction', [raw]),
    async mine(blocks = 1) {
      await rpc('anvil_mine', [`0x${blocks.toString(16)}`]);
    },
    head,
    receipt: (tx) => rpc<AnvilReceipt | null>('eth_getTransactionReceipt', [tx]),
    async reorg(depth) {
      const top = (await head()).number;
      const raws: string[] = [];
      for (let number = top - depth + 1; number <= top; number++) {
        type Block = { transactions: string[] };
        const block = await rpc<Block>('eth_getBlockByNumber', [`0x${number.toString(16)}`, false]);
        for (const tx of block.transactions) raws.push(await rpc<string>('eth_getRawTransactionByHash', [tx]));
      }
      await rpc('anvil_reorg', [depth, []]);
      return raws;
    },
    start,
    stop,
    async close() {
      await stop();
      await rm(home, { recursive: true, force: true });
    },
  };
}
