/**
 * One geth process on loopback, alone, with its data in a folder of its own.
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { installationFolder } from '../../src/lib/installation.ts';
import { callNode, type EvmNode } from '../support/evm-node.ts';
import { freePort } from '../support/free-port.ts';
import { gethBinary } from './geth-binary.ts';

const ANSWER_WAIT_MS_MAX = 180_000;
const OUTPUT_CHARS_MAX = 4_000;
/** Without it geth listens for peers, on all interfaces; no option says so. */
const NO_PEERS = '[Node.P2P]\nListenAddr = ""\n';
const scratch = join(installationFolder, '.tmp');

export type Geth = Pick<EvmNode, 'httpUrl' | 'wsUrl' | 'rpc' | 'start' | 'stop' | 'close'> &
  Readonly<{
    port: number;
    /** Where the Engine API listens, and the secret of its tokens: 32 bytes in hex. */
    engineUrl: string;
    engineSecret: string;
    /** Ends the process with SIGKILL: geth goes back to the state that it saved last. */
    kill(): Promise<void>;
  }>;

/** Runs a command of geth to its end and returns its output. */
export const runGeth = (...words: string[]): string =>
  execFileSync(gethBinary(), words, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });

/** The option that `geth init` must have too. */
function schemeOf(options: readonly string[]): readonly string[] {
  const at = options.indexOf('--state.scheme');
  return at < 0 ? [] : options.slice(at, at + 2);
}

/**
 * Starts a geth and waits until it answers.
 * @param genesis what `geth init` reads; null for mainnet’s own
 * @param options more of geth's options
 */
export async function startGeth(genesis: object | null, options: readonly string[] = []): Promise<Geth> {
  mkdirSync(scratch, { recursive: true });
  const home = mkdtempSync(join(scratch, 'geth-'));
  const [secretFile, configFile, genesisFile] = [join(home, 'jwt'), join(home, 'config'), join(home, 'genesis')];
  const dataDir = ['--datadir', join(home, 'data')];
  const engineSecret = 'a7'.repeat(32);
  writeFileSync(secretFile, engineSecret);
  writeFileSync(configFile, NO_PEERS);
  if (genesis) {
    writeFileSync(genesisFile, JSON.stringify(genesis));
    runGeth('init', ...dataDir, ...schemeOf(options), genesisFile);
  }
  const [port, enginePort] = [String(await freePort()), String(await freePort())];
  const httpUrl = `http://127.0.0.1:${port}`;
  const args = [
    ...dataDir,
    ...['--http', '--http.port', port, '--http.api', 'eth,net,web3,txpool,debug'],
    ...['--ws', '--ws.port', port, '--ws.api', 'eth,net,web3'],
    ...['--authrpc.port', enginePort, '--authrpc.jwtsecret', secretFile],
    ...['--config', configFile, '--nodiscover', '--maxpeers', '0', '--nat', 'none', '--ipcdisable'],
    ...['--syncmode', 'full', '--cache', '128', '--verbosity', '2', '--miner.recommit', '500ms'],
    // Its limit is 1 ether of fees: where base fees are made to rise, the tests' own transactions cost more.
    ...['--rpc.txfeecap', '0'],
    ...options,
  ];
  let child: ChildProcess | null = null;
  // A test that fails before it closes the node must not leave it running.
  process.once('exit', () => child?.kill('SIGKILL'));

  async function start(): Promise<void> {
    const started = spawn(gethBinary(), args, { stdio: ['ignore', 'ignore', 'pipe'] });
    child = started;
    let output = '';
    started.stderr.on('data', (chunk) => {
      output = (output + chunk).slice(-OUTPUT_CHARS_MAX);
    });
    const deadlineMs = performance.now() + ANSWER_WAIT_MS_MAX;
    for (;;) {
      if (started.exitCode !== null) throw new Error(`geth ended with ${started.exitCode}: ${output}`);
      try {
        await callNode(httpUrl, 'eth_chainId', []);
        return;
      } catch (error) {
        if (performance.now() > deadlineMs) throw new Error(`geth does not answer: ${output}`, { cause: error });
        await wait(50);
      }
    }
  }

  async function end(signal: NodeJS.Signals): Promise<void> {
    const running = child;
    child = null;
    if (!running || running.exitCode !== null) return;
    const ended = new Promise((done) => running.once('exit', done));
    running.kill(signal);
    await ended;
  }

  await start();
  return {
    port: Number(port),
    httpUrl,
    wsUrl: `ws://127.0.0.1:${port}`,
    engineUrl: `http://127.0.0.1:${enginePort}`,
    engineSecret,
    rpc: async <T>(method: string, params: readonly unknown[] = []) => (await callNode(httpUrl, method, params)) as T,
    start,
    stop: () => end('SIGTERM'),
    kill: () => end('SIGKILL'),
    async close() {
      await end('SIGKILL');
      rmSync(home, { recursive: true, force: true });
    },
  };
}
