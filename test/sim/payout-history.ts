/**
 * One history of payouts on one simulated network: the real engine, database and signing service, while the process is
 * killed at any step, answers are lost, a node lies, blocks reorganise, fees rise, a backup is restored, the whole
 * machine is put back, a second engine runs, and operators do what messages tell them. Then everything heals, and each
 * payout must have been made once.
 */
import * as assert from 'uvu/assert';
import type { Payer } from '../../indexers/payouts/engine.ts';
import { Fault } from '../../src/core/fault.ts';
import type { Intent } from '../../src/core/intent.ts';
import { unitsOf } from '../../src/core/ledger.ts';
import type { NetworkKey } from '../../src/core/transfer.ts';
import type { PayingSigner } from '../../src/signer/client.ts';
import type { SigningService } from '../../src/signer/signing-service.ts';
import type { HandClock } from '../support/hand-clock.ts';
import { createRandom, type Random } from '../support/random.ts';
import { auditChain, auditEnd, auditWire } from './payout-auditor.ts';
import { type Base, type Bench, clear, copy } from './payout-bench.ts';
import { calm, createChain, decodeSpend, type Lane, lanes, type Weather } from './payout-chain.ts';
import { type Fuse, Killed, overSocket, startEngine } from './payout-engine.ts';
import { createMachine, type Machine } from './payout-machine.ts';
import { endAny, meddle, operate, revive } from './payout-operator.ts';
import { keyOf, macOf, type SimSigner } from './payout-signer.ts';
import { type Engine, type Stage, tempers } from './payout-stage.ts';

const STEPS = 12;
/** A token that refuses five payouts, each through five generations with longer and longer waits, takes 120. */
const HEALING_STEPS_MAX = 240;
/** More calls than any engine makes in one iteration. */
const CALLS_MAX = 24;
/** Nobody puts a machine back in less: the copy is made, the machine stopped, copied back, and started. */
const PUT_BACK_MS = 121_000;

/** How often something occurred, by name. */
export type Tally = Map<string, number>;

/**
 * Plays one history.
 * @throws an assertion when a promise was broken; `story` then says what led there
 */
export async function playHistory(
  seed: number,
  bench: Bench,
  clock: HandClock,
  story: string[],
  tally: Tally,
): Promise<void> {
  const random = createRandom('payouts', seed);
  const operator = seed < WIDER_FROM ? null : createRandom('operator', seed);
  const lane = laneOf(random, operator);
  const network: NetworkKey = `test:h${seed}`;
  const at: Stage['at'] = { base: bench.main, loss: 0, broken: null };
  const note = (what: string) => story.push(what);
  const chain = createChain(lane, random, (bytes) => {
    const { tx, intent, terms } = decodeSpend(bytes);
    note(`  on the wire: ${intent.id} ${tx.slice(0, 8)} ${JSON.stringify(terms)}`);
    // Thrown here, it would pass for a fault of the node.
    try {
      auditWire(at.base, tx);
    } catch (error) {
      at.broken ??= error;
    }
  });
  // It begins as a run that has ended just now.
  await bench.main.database.engines.beat(network, clock.nowMs());
  await bench.main.database.engines.settle(network, null);
  const machine = isPutBack(seed) ? createMachine(bench, network, chain, clock) : null;
  const signer = openSigner(machine, { bench, network, lane, random, at });
  const stage: Stage = {
    random,
    clock,
    bench,
    network,
    lane,
    chain,
    signer,
    machine,
    at,
    engine: {
      own: { payer: null as unknown as Payer, fuse: { left: null, isDead: true }, hasLooked: false },
      second: null,
    },
    planned: new Map(),
    operator,
    temper: operator ? (tempers[seed % tempers.length] ?? 'true') : 'true',
    endedUnpaid: new Set(),
    hasBackup: { yes: false },
    restart: () => restart(stage),
    note,
    count: (what) => tally.set(what, (tally.get(what) ?? 0) + 1),
  };
  try {
    note(`lane ${lane}`);
    for (let n = 1 + random.int(3); n > 0; n--) await plan(stage);
    restart(stage);
    await live(stage);
    await heal(stage);
    await auditAll(stage);
  } finally {
    machine?.close();
    clear(bench.main, network);
    clear(bench.other, network);
  }
}

const laneOf = (random: Random, operator: Random | null): Lane =>
  operator ? (lanes[operator.int(lanes.length)] ?? 'lock') : random.chance(0.5) ? 'sequence' : 'expiry';

async function auditAll({ bench, machine, chain, network, planned, endedUnpaid, count }: Stage): Promise<void> {
  auditChain(chain, endedUnpaid);
  const signer = machine?.signer() ?? bench.signer;
  for (const end of auditEnd(bench.main, signer, chain, network, [...planned.keys()], machine !== null)) count(end);
  assert.equal((await bench.main.database.ledger.verify()).problems, [], 'the books agree with the facts');
}

/** The seeds from which every third history puts the machine back; those below are as they were before it could. */
const PUT_BACK_FROM = 30_000_000;
/** Those from which two of five do. Seeds that are kept below play on as they did when they were found. */
export const WIDER_FROM = 40_000_000;
const isPutBack = (seed: number): boolean =>
  seed >= PUT_BACK_FROM && createRandom('put back', seed).chance(seed < WIDER_FROM ? 1 / 3 : 2 / 5);

/** Reaches the signer of the machine as it is now, or the one that all histories share. */
function openSigner(
  machine: Machine | null,
  { bench, network, lane, random, at }: Pick<Stage, 'bench' | 'network' | 'lane' | 'random' | 'at'>,
): PayingSigner {
  let signer: SimSigner | null = null;
  let service: SigningService;
  const running = (): SigningService => {
    const current = machine?.signer() ?? bench.signer;
    if (signer !== current) [signer, service] = [current, current.service(network, lane)];
    return service;
  };
  return overSocket(running, random, () => at.loss);
}

const rarely = (random: Random, most: number): number => (random.chance(0.5) ? 0 : (random.int(100) / 100) * most);

const weatherOf = (random: Random): Weather => ({
  lost: rarely(random, 0.5),
  timeoutAfterAccepting: rarely(random, 0.5),
  refused: rarely(random, 0.3),
  lies: rarely(random, 1),
  down: rarely(random, 0.2),
  fails: rarely(random, 0.9),
  mines: random.chance(0.5) ? 1 : 0.2 + random.int(80) / 100,
  forgets: rarely(random, 0.3),
  reorgs: rarely(random, 0.6),
  dear: rarely(random, 1),
  pruned: rarely(random, 0.5),
});

function restart(stage: Stage): void {
  stage.engine.own = start(stage, stage.bench.main);
}

function start(stage: Stage, { database }: Base): Engine {
  const { network, lane, chain, signer, clock, random, machine } = stage;
  const fuse: Fuse = { left: random.chance(0.5) ? random.int(3 * CALLS_MAX) : null, isDead: false };
  return {
    fuse,
    hasLooked: false,
    payer: startEngine({
      network,
      lane,
      node: chain.node(),
      signer,
      database,
      clock,
      fuse,
      ...(machine && { machine }),
    }),
  };
}

async function plan(stage: Stage): Promise<void> {
  const { random, network, planned, bench, clock, machine, lane } = stage;
  const id = `${network.slice(5)}_${planned.size}`;
  const units = freeUnits(stage, BigInt(1 + random.int(1000)));
  const shape = { id, network, currency: 'USDT', to: keyOf({ role: 'collection', index: 77 }), units } as const;
  // The cost of sweeps and gas is learned from more than this chain shows (learned-sweep.test.ts).
  const drawn = machine ? 0 : random.int(5);
  // On Solana, the gas wallet pays for sweeps itself.
  const kind = drawn === 4 && lane === 'lock' ? 3 : drawn;
  const intent: Intent =
    kind < 3
      ? payback(shape)
      : kind === 3
        ? { kind: 'sweep', id, network, currency: 'USDT', from: [{ index: random.int(2), units }] }
        : { kind: 'gas', id, network, form: 'transfer', index: random.int(2), units };
  planned.set(id, intent);
  await write(stage, [intent], clock.nowMs() + 1000 * random.int(60));
  if (random.chance(0.05)) await bench.main.database.payouts.cancel(id, clock.nowMs());
}

/** Returns an amount that no other payout has: a chain does not tell which of two equal refunds a transaction paid. */
function freeUnits({ planned }: Stage, drawn: bigint): bigint {
  const taken = new Set([...planned.values()].map(unitsOf));
  let units = drawn;
  while (taken.has(units)) units += 2n;
  return units;
}

type Shape = Omit<Parameters<typeof macOf>[0], 'session' | 'held'>;

/** Makes a refund, or a return of held money. */
function payback(shape: Shape): Intent {
  const refund = { ...shape, session: { id: `cs_${shape.id}`, amount: '1.00' } };
  if (shape.units % 2n === 0n) return { kind: 'refund', ...refund, mac: macOf(refund) };
  const bound = { ...refund, held: 'late' } as const;
  return { kind: 'return', ...bound, mac: macOf(bound) };
}

async function write({ bench, clock }: Stage, intents: readonly Intent[], notBeforeMs: number): Promise<void> {
  const nowMs = clock.nowMs();
  const plans = intents.map((intent) => ({ intent, sessionId: null, servesId: null, notBeforeMs, nowMs }));
  await bench.main.database.payouts.plan(plans);
}

async function live(stage: Stage): Promise<void> {
  const { random, operator, chain, clock, at, note } = stage;
  chain.weather = weatherOf(random);
  at.loss = rarely(random, 0.2);
  const usurps = operator?.chance(0.3) ?? random.chance(0.1);
  note(`weather ${JSON.stringify(chain.weather)}, signer loses ${at.loss}`);
  for (let step = 0; step < STEPS; step++) {
    note(`— step ${step}`);
    if (random.chance(0.1)) await plan(stage);
    if (random.chance(0.1)) backUp(stage);
    if (random.chance(0.1)) await restoreBackup(stage);
    if (random.chance(0.1)) startSecond(stage);
    if (stage.machine && random.chance(0.15)) await putBack(stage);
    if (usurps && stage.lane === 'sequence' && random.chance(0.1)) usurp(stage);
    clock.advance(1000 * (1 + random.int(50)));
    chain.step();
    await meddle(stage);
    await look(stage, 'own');
    await look(stage, 'second');
    auditChain(chain, stage.endedUnpaid);
  }
}

function backUp({ bench, network, engine, hasBackup, machine, note }: Stage): void {
  if (machine) {
    machine.keep();
    note('the state of the machine is kept');
  }
  if (machine || engine.second) return;
  copy(bench.main, bench.other, network);
  hasBackup.yes = true;
  note('a backup is made');
}

/**
 * The machine is lost, and an older state of the database is restored. Merchants repeat requests that it has forgotten.
 */
async function restoreBackup(stage: Stage): Promise<void> {
  const { bench, network, engine, hasBackup, planned, clock, note, count } = stage;
  if (!hasBackup.yes || engine.second) return;
  copy(bench.other, bench.main, network);
  note('the backup is restored');
  count('backup restored');
  restart(stage);
  const database = bench.main.database;
  const lost = [...planned.values()];
  const missing: Intent[] = [];
  for (const intent of lost) if (!(await database.payouts.find(intent.id))) missing.push(intent);
  await write(stage, missing, clock.nowMs());
}

/** Database and signer are put back together. Merchants repeat requests that are forgotten, in any order. */
async function putBack(stage: Stage): Promise<void> {
  const { machine, random, clock, planned, bench, endedUnpaid, note, count } = stage;
  machine?.putBack();
  clock.advance(PUT_BACK_MS);
  note('the machine is put back');
  count('put back');
  restart(stage);
  for (const intent of random.shuffled([...planned.values()])) {
    const known = await bench.main.database.payouts.find(intent.id);
    // Payouts that ended since are open again.
    if (known?.settledAtMs == null) endedUnpaid.delete(intent.id);
    if (known) continue;
    await write(stage, [intent], clock.nowMs() + 1000 * random.int(120));
  }
}

/** Another installation starts from a copy of the database, with the same signer. */
function startSecond(stage: Stage): void {
  const { bench, network, engine, hasBackup, machine, note, count } = stage;
  if (machine || engine.second) return;
  copy(bench.main, bench.other, network);
  hasBackup.yes = false;
  engine.second = start(stage, bench.other);
  note('a second engine starts from a copy');
  count('second engine');
}

function usurp({ chain, note, count }: Stage): void {
  const payer = keyOf({ role: 'refund' });
  chain.usurp(payer);
  note('somebody else spends from the refund wallet');
  count('usurped');
}

/**
 * Runs one iteration of an engine; if it is the engine's last, the next one starts.
 * @returns the fault that prevents it from working
 */
async function look(stage: Stage, which: 'own' | 'second'): Promise<Fault | null> {
  const { engine, at, bench, note, count } = stage;
  const running = engine[which];
  if (!running) return null;
  if (stage.machine) stage.chain.forgetHidden();
  await stage.machine?.follow();
  if (at.broken) throw at.broken;
  at.base = which === 'own' ? bench.main : bench.other;
  try {
    const fault = await running.payer.look();
    running.hasLooked = true;
    if (fault) note(`  ${which}: ${fault.code}`);
    return fault;
  } catch (error) {
    if (error instanceof Fault) {
      running.hasLooked = true;
      note(`  ${which}: ${error.code}`);
      count(error.code);
      return error;
    }
    if (!(error instanceof Killed)) throw error;
    note(`  ${which} is killed`);
    count('killed');
    // Calls in flight in the dead process end in dead calls.
    await new Promise((resolve) => setImmediate(resolve));
    engine[which] = start(stage, at.base);
    return null;
  }
}

async function heal(stage: Stage): Promise<void> {
  const { chain, clock, at, engine, bench, network, note } = stage;
  note('— everything heals');
  // Rarely a payout can never succeed, because its token refuses it: it then waits for a person.
  chain.weather = { ...calm, fails: stage.random.chance(0.03) ? 1 : 0 };
  at.loss = 0;
  engine.second = null;
  for (let step = 0; step < HEALING_STEPS_MAX; step++) {
    clock.advance(20_000);
    chain.step();
    await endAny(stage, 0.2);
    engine.own.fuse.left = null;
    const fault = await look(stage, 'own');
    if (fault) await operate(stage, fault);
    if (bench.main.countOpen(network) === 0 && !(await revive(stage)) && (await rest(stage))) return;
    if (step % 10 === 9) await revive(stage);
  }
  const left = bench.main.raw.prepare('SELECT * FROM payouts WHERE network = ?').all(network);
  assert.unreachable(`payouts are still open after ${HEALING_STEPS_MAX} calm steps: ${JSON.stringify(left)}`);
}

/**
 * Makes the last blocks final, and runs the engine once more.
 * @returns false if it found something
 */
async function rest(stage: Stage): Promise<boolean> {
  for (let n = 0; n < 5; n++) {
    stage.clock.advance(20_000);
    stage.chain.step();
    const fault = await look(stage, 'own');
    if (!fault) continue;
    await operate(stage, fault);
    return false;
  }
  return true;
}
