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
 * Blocks are mined by hand unless `mining` says otherwise.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { installationFolder } from '../../src/lib/installation.ts';
import { callNode, type EvmNode, type EvmReceipt, GAS_USUAL, headOf, rawsAbove } from './evm-node.ts';
import { freePort } from './free-port.ts';

const ANSWER_WAIT_MS_MAX = 180_000;

export type AnvilOptions = Readonly<{
  chainId: number;
  /** `manual`: only `mine()` makes blocks. `auto`: each transaction makes one. `everyS`: a block at this interval. */
  mining?: 'manual' | 'auto' | Readonly<{ everyS: number }>;
  /** anvil calls a block final when two epochs of this many blocks are on top of it; 32 by default, as on Ethereum. */
  slotsInAnEpoch?: number;
}>;

/** `sendRaw` can send again what `reorg` returns. */
export type Anvil = EvmNode;

/** Returns the path of anvil's own binary: npm's wrapper script would intercept signals. */
function binary(): string {
  const platform = process.platform;
  const arch = process.arch === 'x64' ? 'amd64' : process.arch;
  const name = platform === 'win32' ? 'anvil.exe' : 'anvil';
  const packages = join(installationFolder, 'node_modules/@foundry-rs');
  const path = join(packages, `anvil-${platform}-${arch}`, 'bin', name);
  if (!existsSync(path)) throw new Error(`no anvil at ${path}: run npm ci with optional dependencies`);
  return path;
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
        await callNode(httpUrl, 'eth_chainId', []);
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

  const rpc = async <T>(method: string, params: readonly unknown[] = []) =>
    (await callNode(httpUrl, method, params)) as T;
  const sendRaw = (raw: string) => rpc<string>('eth_sendRawTransaction', [raw]);
  const head = () => headOf({ rpc });

  await start();
  const accounts = await rpc<string[]>('eth_accounts');
  return {
    chainId: options.chainId,
    httpUrl,
    wsUrl: `ws://127.0.0.1:${port}`,
    accounts,
    rpc,
    send: (request) => rpc<string>('eth_sendTransaction', [{ from: accounts[0], gas: GAS_USUAL, ...request }]),
    sendRaw,
    async give(address, wei) {
      const held = BigInt(await rpc<string>('eth_getBalance', [address, 'latest']));
      await rpc('anvil_setBalance', [address, `0x${(held + wei).toString(16)}`]);
    },
    async mine(blocks = 1) {
      await rpc('anvil_mine', [`0x${blocks.toString(16)}`]);
    },
    async mineEvery(seconds) {
      await rpc('evm_setIntervalMining', [seconds]);
    },
    head,
    receipt: (tx) => rpc<EvmReceipt | null>('eth_getTransactionReceipt', [tx]),
    async reorg(depth, keep = 'none') {
      const raws = await rawsAbove({ rpc, head }, (await head()).number - depth);
      await rpc('anvil_reorg', [depth, []]);
      if (keep === 'all') for (const raw of raws) await sendRaw(raw);
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
