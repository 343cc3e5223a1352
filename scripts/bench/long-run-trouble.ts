/**
 * What goes wrong during the long run, by seed: processes killed, a node that flaps, reorgs, and dust.
 * @module
 */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { systemClock } from '../../src/lib/clock.ts';
import { controlSandbox } from '../../src/sandbox/operator/control.ts';
import { createRandom, type Random } from '../../src/sandbox/random.ts';
import type { Supervisor } from '../../test/support/quayside-process.ts';

export const networkNames = ['tron', 'ethereum', 'bsc', 'solana'] as const;
export const DUST_NETWORK = 'bsc';

export type TroubleOptions = Readonly<{
  dataDir: string;
  seed: string;
  seconds: number;
  /** Where the dust goes. */
  dustTo: string;
  /** Starts the installation again. */
  startAgain: () => Supervisor;
}>;

const FLAPPING_NETWORK = 'ethereum';
const FLAP_MS_MIN = 3000;
const FLAP_MS_SPAN = 4000;
const faultsOfFlapping = ['http_error', 'rpc_error', 'drop', 'hang', 'cut', 'half_open', 'backwards', 'unknown_block'];
const KILL_MS_MIN = 4000;
const KILL_MS_SPAN = 8000;
const REORG_MS_MIN = 2000;
const REORG_MS_SPAN = 4000;
/** Less than what any of the networks credits after. */
const REORG_DEPTH_MAX = 2;
/** In ten minutes, 100,000 transfers. */
const DUST_PER_SECOND = 100_000 / 600;
const DUST_OUTPUTS = 100;
const ASK_AGAIN_MS = 250;
const SUPERVISOR = 'supervisor and all';

/** What happened, and what the installation runs under at the end. */
export type Happened = Readonly<{ kills: ReadonlyMap<string, number>; flaps: number; reorgs: number; dust: number }>;

/**
 * Makes trouble until the signal aborts; then ends the faults.
 * @param supervisor what runs now; half way, it is killed too, and all of it is started again
 */
export async function makeTrouble(
  options: TroubleOptions,
  supervisor: Supervisor,
  signal: AbortSignal,
): Promise<Happened> {
  const kills = new Map<string, number>();
  const count = { flaps: 0, reorgs: 0 };
  const { dataDir, seed } = options;
  const random = (what: string) => createRandom(what, seed);
  const control = (network: string, method: string, params: object) =>
    controlSandbox(dataDir, network, method, params).then(
      () => 1,
      // The node was killed just now, or the blocks are final already.
      () => 0,
    );
  const [dust] = await Promise.all([
    flood(options),
    kill(options, supervisor, kills, random('kills'), signal),
    repeat(random('flaps'), [FLAP_MS_MIN, FLAP_MS_SPAN], signal, async (chosen) => {
      const kinds = chosen.shuffled(faultsOfFlapping).slice(0, 2);
      const rates = Object.fromEntries(kinds.map((kind) => [kind, 0.5 + chosen.int(2) / 2]));
      count.flaps += await control(FLAPPING_NETWORK, 'sandbox_fault', { rates });
      await systemClock.sleep(FLAP_MS_MIN + chosen.int(FLAP_MS_SPAN), signal);
      await control(FLAPPING_NETWORK, 'sandbox_fault', { heal: true });
    }),
    repeat(random('reorgs'), [REORG_MS_MIN, REORG_MS_SPAN], signal, async (chosen) => {
      const network = networkNames[chosen.int(networkNames.length)] ?? DUST_NETWORK;
      const keep = (['all', 'some', 'pending'] as const)[chosen.int(3)];
      count.reorgs += await control(network, 'sandbox_reorg', { depth: 1 + chosen.int(REORG_DEPTH_MAX), keep });
    }),
  ]);
  while ((await control(FLAPPING_NETWORK, 'sandbox_fault', { heal: true })) === 0) {
    await systemClock.sleep(ASK_AGAIN_MS);
  }
  return { kills, dust, ...count };
}

async function repeat(
  random: Random,
  [msMin, msSpan]: readonly [number, number],
  signal: AbortSignal,
  act: (random: Random) => Promise<void>,
): Promise<void> {
  while (!signal.aborted) {
    await systemClock.sleep(msMin + random.int(msSpan), signal);
    if (!signal.aborted) await act(random);
  }
}

async function kill(
  { seconds, startAgain }: TroubleOptions,
  first: Supervisor,
  kills: Map<string, number>,
  random: Random,
  signal: AbortSignal,
): Promise<void> {
  let supervisor = first;
  let isWholeKilled = false;
  const startedAtMs = performance.now();
  const count = (name: string) => kills.set(name, (kills.get(name) ?? 0) + 1);
  await repeat(random, [KILL_MS_MIN, KILL_MS_SPAN], signal, async (chosen) => {
    if (!isWholeKilled && performance.now() - startedAtMs > (seconds * 1000) / 2) {
      isWholeKilled = true;
      count(SUPERVISOR);
      await supervisor.end('SIGKILL');
      supervisor = startAgain();
      return;
    }
    const children = await childrenOf(supervisor.pid);
    const victim = children[chosen.int(children.length)];
    if (!victim) return;
    try {
      process.kill(victim.pid, 'SIGKILL');
      count(victim.name);
    } catch {
      // It has just ended.
    }
  });
}

/** Returns the processes that a supervisor started, each named by its program and, of indexers, its network. */
async function childrenOf(parent: number): Promise<Readonly<{ pid: number; name: string }>[]> {
  const { stdout } = await promisify(execFile)('ps', ['-A', '-o', 'pid=,ppid=,args=']);
  return stdout.split('\n').flatMap((line) => {
    const [pid, ppid, ...words] = line.trim().split(/\s+/);
    const program = words.findIndex((word) => word.endsWith('.js'));
    if (Number(ppid) !== parent || program < 0) return [];
    const [, file = ''] = words[program]?.split('/dist/') ?? [];
    const isIndexer = file.startsWith('indexers/');
    return [{ pid: Number(pid), name: isIndexer ? `${file} ${words[program + 1]}` : file }];
  });
}

/** Sends dust, each transfer of another amount and all below the floor. @returns how many the node took */
async function flood({ dataDir, dustTo, seconds }: TroubleOptions): Promise<number> {
  const startedAtMs = performance.now();
  let sent = 0;
  while (sent < seconds * DUST_PER_SECOND) {
    const due = ((performance.now() - startedAtMs) / 1000) * DUST_PER_SECOND;
    if (sent > due) {
      await systemClock.sleep(ASK_AGAIN_MS);
      continue;
    }
    const outputs = Array.from({ length: DUST_OUTPUTS }, (_, at) => ({ to: dustTo, amount: String(sent + at + 1) }));
    const isTaken = await controlSandbox(dataDir, DUST_NETWORK, 'sandbox_pay', { outputs }).then(
      () => true,
      () => false,
    );
    if (isTaken) sent += DUST_OUTPUTS;
    else await systemClock.sleep(ASK_AGAIN_MS);
  }
  return sent;
}
