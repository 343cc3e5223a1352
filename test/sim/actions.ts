/**
 * Events in the life of a simulated installation. Each action picks its details from the stage's random source.
 */
import { chains } from '../../src/chains/index.ts';
import type { Database } from '../../src/database/database.ts';
import type { Session } from '../../src/database/session.ts';
import { tokenKey } from '../../src/sandbox/node-server.ts';
import { paymentKinds } from '../../src/sandbox/transaction.ts';
import type { FaultKind } from '../simulated/faults.ts';
import type { World } from '../simulated/world.ts';
import { addressKeyOf } from '../support/address-keys.ts';
import type { LockstepClock } from '../support/lockstep-clock.ts';
import { newSession } from '../support/new-session.ts';
import type { Random } from '../support/random.ts';
import { accountKeyOf } from '../support/simulated-node.ts';
import type { SimNetwork } from './sim-network.ts';

export type Stage = Readonly<{
  random: Random;
  clock: LockstepClock;
  database: Database;
  shopId: string;
  networks: readonly SimNetwork[];
  sessions: Session[];
  /** How many addresses each family's pool has. */
  addresses: { count: number };
  note(what: string): void;
}>;

type Action = (stage: Stage) => void | Promise<void>;

/** How far an older snapshot may lie behind: below the final block, too. */
const SNAPSHOT_BLOCKS = 40;

/**
 * Faults and how often each may hit a request. Those that halt a network, as they should, are missing; so are a clock
 * that jumps, because sessions are judged by the chain's, and what concerns payouts only.
 */
const rateMax: Readonly<Partial<Record<FaultKind, number>>> = {
  rpc_error: 0.1,
  http_error: 0.05,
  hang: 0.004,
  cut: 0.03,
  drop: 0.02,
  half_open: 0.003,
  lag: 0.1,
  backwards: 0.1,
  unknown_block: 0.1,
  empty_content: 0.2,
  sibling_content: 0.1,
  unlinked: 0.05,
  history_closed: 0.05,
  push_lost: 0.5,
  push_twice: 0.3,
  method_off: 0.02,
  call_failed: 0.05,
  failed_logs: 0.5,
  http_refused: 0.02,
  batch_limited: 0.5,
  answers_limited: 0.5,
  finality_missing: 0.2,
  finality_stalled: 0.2,
  states_gone: 0.2,
  blocks_lost: 0.05,
  restarted: 0.05,
  finality_ahead: 0.3,
  unhealthy: 0.1,
};

export const pick = <T>(random: Random, from: readonly T[]): T => from[random.int(from.length)] as T;

export async function addAddresses({ database, networks, addresses }: Stage, count: number): Promise<void> {
  const firstIndex = addresses.count;
  for (const family of new Set(networks.map(({ config }) => config.family))) {
    const { keyBytes } = chains[family].address;
    const keys = Array.from({ length: count }, (_, n) => addressKeyOf(firstIndex + n, keyBytes));
    await database.addresses.add({ family, mode: 'test', source: 'simulation', firstIndex, keys });
  }
  addresses.count += count;
}

/** Wakes the indexers and interrupts them at some point of their work. */
export const stir: Action = async ({ random, clock }) => {
  clock.advance(1000);
  for (let tick = random.int(60); tick > 0; tick--) await new Promise(setImmediate);
};

const order: Action = async (stage) => {
  const { random, clock, database, shopId, networks, sessions, note } = stage;
  if (random.chance(0.7)) await addAddresses(stage, 1 + random.int(2));
  const name = `order${sessions.length}`;
  const accepts = pick(random, [['USDT', 'USDC'], ['USDT', 'USDC'], ['USDT'], ['USDC']] as const);
  const amountMinor = 100 + random.int(100_000);
  const expiresInS = 60 + random.int(240);
  const outcome = await database.sessions.create(
    newSession({
      storeId: shopId,
      name,
      networks: networks.map(({ config }) => config),
      amountMinor,
      accepts,
      expiresInS,
      nowMs: clock.nowMs(),
    }),
  );
  if (!('session' in outcome)) return note(`${name} is refused: ${outcome.kind}`);
  sessions.push(outcome.session);
  note(`${name} for ${amountMinor} in ${accepts.join(' or ')}, expires in ${expiresInS} s`);
};

const cancel: Action = async ({ random, clock, database, sessions, note }) => {
  if (sessions.length === 0) return;
  const { id, storeId, mode, request } = pick(random, sessions.slice(-6));
  const replay = { idempotencyKey: null, path: `/cancel/${id}`, bodyHash: '' };
  const { kind } = await database.sessions.cancel({ id, storeId, mode, replay, nowMs: clock.nowMs() });
  note(`${request.orderId} is canceled: ${kind}`);
};

/** Pays a session, old or new, in one of the ways of people and fraudsters. */
const pay: Action = ({ random, networks, sessions, note }) => {
  const network = pick(random, networks);
  const { family, tokens } = network.config;
  const token = pick(random, tokens);
  const session = sessions.length > 0 ? pick(random, sessions.slice(-12)) : undefined;
  const to = session?.addresses[family];
  // A network that was not followed when the session was created is not offered.
  if (!session || to === undefined || network.node.world.pending().length > 50) return;
  const asked = session.options.find(
    ({ networkKey, token: address }) => networkKey === network.config.key && address === token.address,
  );
  // A currency that was not requested is paid by value, too.
  const due = asked?.units ?? (session.terms.duePar / 10n ** 12n) * 10n ** BigInt(token.decimals - 6);
  const percent = pick(random, [100n, 100n, 100n, 100n, 50n, 50n, 30n, 101n, 150n, 0n]);
  const units = (due * percent) / 100n;
  const whole = { token: tokenKey(chains[family].address, token), to, units };
  const half = { ...whole, units: units / 2n };
  const outputs = random.chance(0.15) ? [half, { ...half, units: units - half.units }] : [whole];
  const kind = random.chance(0.7) ? 'direct' : pick(random, paymentKinds);
  const id = network.node.world.pay({ kind, from: accountKeyOf(family, 'payer'), outputs });
  const what = `${percent} % in ${token.symbol} on ${network.config.name}, ${outputs.length} transfer(s)`;
  note(`${session.request.orderId} gets a ${kind} payment of ${what}: ${id.slice(0, 8)}`);
};

const reorganise: Action = ({ random, networks, note }) => {
  const { node, config, isSyncing } = pick(random, networks);
  if (isSyncing()) return;
  const { world } = node;
  // Mostly shallow; now and then as deep as the chain allows.
  const wanted = random.chance(0.85) ? 1 + random.int(3) : 1 + random.int(20);
  const depth = Math.min(wanted, blocksAbove(world, world.finalized().number));
  if (depth < 1) return;
  const keep = pick(random, ['none', 'all', 'some'] as const);
  const blocks = Math.max(1, depth - 1 + random.int(4));
  world.reorg({ depth, keep, blocks });
  note(`${config.name} replaces ${depth} block(s) by ${blocks}, keeping ${keep}`);
};

/** Returns how many blocks the chain has above a number; not every number has one. */
function blocksAbove(world: World, bottom: number): number {
  let blocks = 0;
  for (let number = world.tip().number; number > bottom; number--) if (world.at(number)) blocks++;
  return blocks;
}

/** Stops a node, and starts it again with the same chain: at once, or by a later action. */
const stopNode: Action = async ({ random, networks, note }) => {
  const network = pick(random, networks);
  await network.stopNode();
  const isBackAtOnce = random.chance(0.5);
  if (isBackAtOnce) await network.startNode();
  note(`the node of ${network.config.name} is stopped${isBackAtOnce ? ' and started again' : ''}`);
};

/**
 * Kills a node, which comes back lower and with an empty pool. Either nobody else has what it lost, and other blocks
 * follow; or it comes back from an older snapshot and gets everything from its peers.
 */
const killNode: Action = async ({ random, networks, note }) => {
  const network = pick(random, networks);
  const { config } = network;
  const { world } = network.node;
  const isAlone = random.chance(0.5);
  const bottom = isAlone ? world.finalized().number : Math.max(0, world.tip().number - SNAPSHOT_BLOCKS);
  const depthMax = blocksAbove(world, bottom);
  if (depthMax < 1 || network.isSyncing()) return;
  const depth = 1 + random.int(random.chance(0.7) ? Math.min(3, depthMax) : depthMax);
  await network.startNode();
  await network.killNode(depth, isAlone);
  const isBackAtOnce = random.chance(0.7);
  if (isBackAtOnce) await network.startNode();
  const again = isAlone ? 'for good' : 'and gets them back';
  note(`the node of ${config.name} loses ${depth} block(s) ${again}${isBackAtOnce ? '' : ', and is down'}`);
};

export const startNodes: Action = async ({ networks }) => {
  for (const network of networks) await network.startNode();
};

const breakNode: Action = ({ random, networks, note }) => {
  const { node, config } = pick(random, networks);
  node.faults.heal();
  if (random.chance(0.4)) return note(`${config.name} heals`);
  const struck = Object.entries(rateMax).filter(() => random.chance(0.3));
  const rates = Object.fromEntries(struck.map(([kind, max]) => [kind, (max * random.int(101)) / 100]));
  node.faults.set({ rates, lagBlocks: 1 + random.int(6) });
  note(`${config.name} has faults ${JSON.stringify(rates)}`);
};

/** Kills an indexer in the middle of something; it may not be restarted for a while. */
const kill: Action = async (stage) => {
  const { random, networks, note } = stage;
  const network = pick(random, networks);
  if (!network.isRunning()) return;
  await stir(stage);
  await network.kill();
  const isBackAtOnce = random.chance(0.6);
  if (isBackAtOnce) network.start();
  note(`the indexer of ${network.config.name} is killed${isBackAtOnce ? ' and started again' : ''}`);
};

export const restart: Action = ({ networks, note }) => {
  for (const network of networks) {
    if (network.isRunning()) continue;
    network.start();
    note(`the indexer of ${network.config.name} is started again`);
  }
};

/** Mines blocks that nobody sees one by one. */
const mineMany: Action = ({ random, clock, networks, note }) => {
  const network = pick(random, networks);
  const blocks = 5 + random.int(40);
  for (let n = 0; n < blocks; n++) {
    clock.advance(200);
    network.mine();
  }
  note(`${network.config.name} mines ${blocks} blocks at once`);
};

export const settleDue: Action = async ({ clock, database }) => {
  await database.sessions.settleDue(clock.nowMs(), 100);
};

/** An operator accepts held money, but not less than what is due. */
const accept: Action = async ({ random, clock, database, note }) => {
  const open = await database.held.list({ state: 'open', limit: 10 });
  if (open.length === 0) return;
  const { id, kind, orderId } = pick(random, open);
  const act = { atMs: clock.nowMs(), operator: 'simulation', command: 'held accept', reason: null };
  const tried = await database.held.accept(id, act, true);
  if (tried.kind === 'done' && tried.effect === 'paid' && tried.after.confirmedPar < tried.after.duePar) return;
  const done = await database.held.accept(id, act, false);
  note(`${kind} money of ${orderId} is accepted: ${done.kind === 'done' ? done.effect : done.kind}`);
};

/** Actions by weight. */
export const actions: readonly (readonly [number, Action])[] = [
  [14, order],
  [40, pay],
  [3, cancel],
  [4, accept],
  [10, reorganise],
  [7, breakNode],
  [4, kill],
  [4, restart],
  [3, stopNode],
  [4, killNode],
  [6, startNodes],
  [2, mineMany],
];
