/**
 * One simulated life of an installation: networks of the chain families with a simulated node each, a real database,
 * real indexers, and sessions that are paid in every possible way, while nodes fail, chains
 * reorganise, and indexers are killed and started again. Then everything heals, and all that was promised must have
 * come true.
 *
 * Everything random comes from the seed, and time passes only between steps. In seeds that poll, a run repeats exactly;
 * in seeds with push connections, a notification may arrive before or after a request that it races with.
 */
import * as assert from 'uvu/assert';
import { issueEndpoint } from '../../src/app/new-credentials.ts';
import type { CreditPolicy, CreditTier } from '../../src/core/credit-policy.ts';
import { minorToPar } from '../../src/core/money.ts';
import { standing } from '../../src/core/session.ts';
import type { Database } from '../../src/database/database.ts';
import { type LockstepClock, lockstepClock } from '../support/lockstep-clock.ts';
import { merchantStore } from '../support/new-session.ts';
import { createRandom, type Random } from '../support/random.ts';
import { sumReceipts } from '../support/receipts.ts';
import { deliverDue } from '../support/record-attempt.ts';
import { statusOf } from '../support/running-indexer.ts';
import { openTempDatabase } from '../support/temp-database.ts';
import { actions, addAddresses, pick, restart, type Stage, settleDue, startNodes, stir } from './actions.ts';
import { type Audited, auditEnd, auditNow } from './auditor.ts';
import { openSimNetwork, type SimNetwork, type SimNetworkOptions } from './sim-network.ts';

const STEPS = 150;
const STEP_MS = 3000;
/** One network makes a block in each step, the other in every few. */
const SLOW_STEPS = 4;
/** The share of Solana's slots that have no block. */
const SKIPPED = 0.2;
/** Few, so that sessions get addresses which were added moments ago. */
const ADDRESSES = 4;
const OUTAGE_WAIT_S = 240;
const MONITORING_S = 600;
const AUDIT_STEPS = 10;
/** The limit below which payments need not be final, where there is one: about every fourth order. */
const SMALL_MINOR = 25_000n;
/** After healing, an indexer that has not reached the head by then never will. */
const HEALING_STEPS_MAX = 300;

const extendedEvents = [
  'payment.detected',
  'payment.partially_paid',
  'payment.late',
  'payment.overpaid',
  'payment.wrong_token',
  'payment.reversed',
] as const;

/** How often something occurred, by name: shows that simulations were not idle. */
export type Tally = Map<string, number>;

/**
 * Plays one simulation.
 * @throws an assertion when a promise was broken; `story` then says what led there
 */
export async function simulate(seed: number, story: string[], tally: Tally): Promise<void> {
  const random = createRandom('simulation', seed);
  const clock = lockstepClock();
  const temp = openTempDatabase(OUTAGE_WAIT_S);
  const networks = await openNetworks(seed, random, clock, temp.database);
  try {
    const stage = await setUp(random, clock, temp.database, networks, story);
    await live(stage);
    await heal(stage, tally);
  } finally {
    await Promise.all(networks.map((network) => network.close()));
    temp.close();
  }
}

/**
 * Each seed has three of four networks: two of one family, which share their addresses, and one of each other family.
 */
function openNetworks(seed: number, random: Random, clock: LockstepClock, database: Database): Promise<SimNetwork[]> {
  const shape = { clock, database, hasPush: random.chance(0.5), blocksPerIngestMax: pick(random, [1, 4, 16]) };
  const byDepth = (blocks: number) => [{ blocks }];
  const byFinality = (usual: number) => [{ finality: 'finalized', usual }] as const;
  const byBoth = (blocks: number) => [{ blocks, finality: 'finalized' }] as const;
  const byAmount = (small: CreditTier): CreditPolicy => [
    small,
    { fromPar: minorToPar(SMALL_MINOR) + 1n, finality: 'finalized', usual: 20 },
  ];
  const fast = { ...shape, finalityDistance: 20 };
  const fastConfig = { blockTimeMs: STEP_MS, reorgDepthMax: 24 };
  const networks: readonly SimNetworkOptions[] = [
    {
      ...shape,
      seed: `${seed} slow`,
      finalityDistance: 14,
      config: {
        name: 'ethereum',
        family: 'evm',
        blockTimeMs: SLOW_STEPS * STEP_MS,
        reorgDepthMax: 16,
        confirmations: pick(random, [
          byFinality(14),
          byDepth(2 + random.int(6)),
          byAmount({ blocks: 2 + random.int(6) }),
        ]),
      },
    },
    {
      ...fast,
      seed: `${seed} fast`,
      config: {
        ...fastConfig,
        name: 'bsc',
        family: 'evm',
        confirmations: random.chance(0.4) ? byAmount({ blocks: 1 + random.int(3) }) : byDepth(3 + random.int(8)),
      },
    },
    {
      ...fast,
      seed: `${seed} tron`,
      config: {
        ...fastConfig,
        name: 'tron',
        family: 'tron',
        confirmations: pick(random, [byFinality(20), byBoth(3 + random.int(20)), byDepth(3 + random.int(8))]),
      },
    },
    {
      ...fast,
      seed: `${seed} solana`,
      isSkipped: (slot) => slot > 0 && createRandom('skipped', seed, slot).chance(SKIPPED),
      config: {
        ...fastConfig,
        name: 'solana',
        family: 'solana',
        confirmations: pick(random, [byFinality(20), byAmount({ finality: 'confirmed' }), byDepth(3 + random.int(8))]),
      },
    },
  ];
  return Promise.all(networks.filter((_, at) => at !== seed % networks.length).map(openSimNetwork));
}

async function setUp(
  random: Random,
  clock: LockstepClock,
  database: Database,
  networks: readonly SimNetwork[],
  story: string[],
): Promise<Stage> {
  const shop = merchantStore({
    latePolicy: pick(random, ['accept', 'hold']),
    topUpGraceS: pick(random, [30, 120]),
    monitoringS: MONITORING_S,
    toleranceMinor: pick(random, [0, 50]),
  });
  await database.stores.create(shop);
  await database.endpoints.add(
    issueEndpoint(shop.id, 'test', 'https://shop.example/hook', extendedEvents, clock.nowMs()),
  );
  const stage: Stage = {
    random,
    clock,
    database,
    shopId: shop.id,
    networks,
    sessions: [],
    addresses: { count: 0 },
    note: (what) => story.push(what),
  };
  await addAddresses(stage, ADDRESSES);
  for (const network of networks) {
    for (let n = random.int(40); n > 0; n--) network.node.world.mine();
    network.start();
  }
  for (let n = 0; n < 2 || !(await isBegun(stage)); n++) {
    assert.ok(n < HEALING_STEPS_MAX, 'indexers with healthy nodes begin to follow');
    await step(stage, networks);
  }
  return stage;
}

/**
 * Whether every network is followed from some block on: earlier payments, deeper than a reorg may reach, do not count.
 */
async function isBegun({ database, networks }: Stage): Promise<boolean> {
  const begun = await database.networks.list();
  return networks.every(({ config }) => begun.some(({ key, tipHash }) => key === config.key && tipHash !== null));
}

/** Derives what was retired after a gap, as the server does. */
async function deriveRetired(stage: Stage): Promise<void> {
  const { database, networks, addresses } = stage;
  for (const { config } of networks) {
    const { retiredThrough } = await database.addresses.level(config, 'simulation');
    if (retiredThrough > addresses.count) await addAddresses(stage, retiredThrough - addresses.count);
  }
}

/** Lets a step's time pass, with a block on each of `mining`, until the indexers are idle. */
async function step(stage: Stage, mining: readonly SimNetwork[]): Promise<void> {
  const { clock, database, networks } = stage;
  await deriveRetired(stage);
  for (const network of mining) network.mine();
  clock.advance(STEP_MS);
  await Promise.all(networks.map((network) => network.settle()));
  await database.sessions.settleDue(clock.nowMs(), 100);
}

async function live(stage: Stage): Promise<void> {
  const { random, networks, note } = stage;
  const wheel = actions.flatMap(([weight, action]) => Array.from({ length: weight }, () => action));
  for (let at = 0; at < STEPS; at++) {
    note(`— step ${at}`);
    // Sometimes things happen while the indexers are in the middle of something.
    if (random.chance(0.3)) await stir(stage);
    for (let happened = random.int(3); happened > 0; happened--) await pick(random, wheel)(stage);
    const mining = networks.filter(({ config }) => config.blockTimeMs === STEP_MS || at % SLOW_STEPS === 0);
    await step(stage, random.chance(0.95) ? mining : []);
    if (at % AUDIT_STEPS === 0) await auditNow(auditedOf(stage));
  }
}

const auditedOf = ({ database, networks, sessions }: Stage): Audited => ({
  database,
  networks: networks.map(({ config, node, written, witness }) => ({ config, world: node.world, written, witness })),
  sessionIds: sessions.map(({ id }) => id),
});

/** Ends all faults, lets every deadline pass, and checks that everything ends correctly. */
async function heal(stage: Stage, tally: Tally): Promise<void> {
  const { clock, database, networks, note } = stage;
  note('— everything heals');
  for (const { node } of networks) {
    for (const [kind, times] of Object.entries(node.faults.report().injected)) count(tally, `fault ${kind}`, times);
    node.faults.heal();
  }
  await startNodes(stage);
  await restart(stage);
  // Enough blocks to make the last payment final, and to overtake a lasting fork.
  for (let n = 0; n < 40; n++) await step(stage, networks);
  clock.advance((MONITORING_S + OUTAGE_WAIT_S) * 1000);
  for (let n = 0; ; n++) {
    const apart = await networksApart(stage);
    if (apart.length === 0) break;
    assert.ok(n < HEALING_STEPS_MAX, `indexers with healthy nodes reach the head: ${apart.join('; ')}`);
    await step(stage, networks);
  }
  await step(stage, networks);
  await settleDue(stage);
  await checkDerived(stage, tally);
  const events = await takeEvents(database, clock.nowMs());
  for (const { eventType } of events) count(tally, eventType, 1);
  await auditEnd(auditedOf(stage), events);
}

const count = (tally: Tally, name: string, times: number) => tally.set(name, (tally.get(name) ?? 0) + times);

/** Returns which networks are not at their node's head, and why. */
async function networksApart({ database, networks }: Stage): Promise<string[]> {
  const apart: string[] = [];
  for (const { config, node, written } of networks) {
    const status = await statusOf(database, config);
    const why = `${config.key} is ${status?.state}: ${status?.reason?.code} ${status?.reason?.message}`;
    assert.is.not(status?.state, 'halted', why);
    const isLevel = status?.state === 'following' && status.tipHash === written.hash(node.world.tip().hash);
    if (!isLevel) apart.push(why);
  }
  return apart;
}

/**
 * The stored state of a session follows from its present facts: there is no undo that could have left something behind.
 */
async function checkDerived({ database, sessions }: Stage, tally: Tally): Promise<void> {
  for (const { id } of sessions) {
    const session = await database.sessions.find(id);
    if (!session) throw new Error(`session ${id} has vanished`);
    count(tally, `session ${session.life.status}`, 1);
    if (session.life.paidLate) count(tally, 'session paid late', 1);
    for (const { state, networkKey } of session.payments) count(tally, `payment ${state} on ${networkKey}`, 1);
    const receipts = session.payments.map((payment) => ({ ...payment, network: payment.networkKey, blockNumber: 0 }));
    // All clocks are one here, so times say which blocks came before the session.
    const terms = { ...session.terms, beforeNumbers: {} };
    assert.equal(session.standing, standing(terms, session.life, sumReceipts(terms, receipts)), `${id}: standing`);
  }
}

/** Takes every event as a dispatcher would, in the permitted order. */
const takeEvents = deliverDue;
