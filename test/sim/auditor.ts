/**
 * Checks Quayside's conclusions against what really happened. It shares no code with the decisions under test: it reads
 * the world's own record of canonical transfers, adds them up in its own way, and checks sessions and events against
 * the documented rules.
 */
import * as assert from 'uvu/assert';
import { chains } from '../../src/chains/index.ts';
import type { NetworkConfig } from '../../src/config/network.ts';
import type { Database } from '../../src/database/database.ts';
import type { HeldMoney } from '../../src/database/held-money.ts';
import type { ClaimedDelivery } from '../../src/database/sending.ts';
import type { Payment, Session } from '../../src/database/session.ts';
import { tokenKey } from '../../src/sandbox/node-server.ts';
import type { TrueTransfer, World } from '../simulated/world.ts';
import { has } from '../support/fields.ts';
import type { Writing } from '../support/simulated-node.ts';
import type { Witness } from './witness.ts';

type AuditedNetwork = Readonly<{ config: NetworkConfig; world: World; written: Writing; witness: Witness }>;

export type Audited = Readonly<{
  database: Database;
  networks: readonly AuditedNetwork[];
  sessionIds: readonly string[];
}>;

/**
 * A canonical transfer to a session's address. `par` is its value with 18 decimals, `atS` its block's time, `index` its
 * index in the block if the family's rule is the world's, `graceS` how long after expiry it is in time.
 */
type Credit = Readonly<{
  key: string;
  index: number | null;
  currency: string;
  par: bigint;
  atS: number;
  graceS: number;
  isDeep: boolean;
}>;

const PAR_DECIMALS = 18n;

const toPar = (units: bigint, decimals: number): bigint => units * 10n ** (PAR_DECIMALS - BigInt(decimals));

/** Numbers equal names in order: the keys of a list, made unique. */
function numbered(names: readonly string[]): string[] {
  const seen = new Map<string, number>();
  return names.map((name) => {
    const before = seen.get(name) ?? 0;
    seen.set(name, before + 1);
    return `${name} #${before}`;
  });
}

const nameOf = (network: string, tx: string, currency: string): string => `${network} ${tx} ${currency}`;

/**
 * Returns what was paid to an address of a network, according to the world. Where money is read from balances, one
 * transaction is one transfer.
 */
function paidTo({ config, world }: AuditedNetwork, address: string): TrueTransfer[] {
  const own = world.transfers().filter(({ to }) => to === address);
  if (config.family !== 'solana') return own;
  const sums = new Map<string, TrueTransfer>();
  for (const one of own) {
    const key = `${one.transactionId} ${one.token}`;
    const before = sums.get(key);
    sums.set(key, before ? { ...before, units: before.units + one.units } : one);
  }
  return [...sums.values()];
}

/** Returns what was paid to a session, on every network. */
function creditsOf(networks: readonly AuditedNetwork[], { addresses, options }: Session): Credit[] {
  return networks.flatMap((network) => {
    const { config, world, written } = network;
    const tip = world.tip().number;
    const tokens = new Map(config.tokens.map((token) => [tokenKey(chains[config.family].address, token), token]));
    const address = addresses[config.family];
    const paid = (address === undefined ? [] : paidTo(network, address)).flatMap((one) => {
      const token = tokens.get(one.token);
      return token ? [{ ...one, token }] : [];
    });
    const keys = numbered(
      paid.map(({ transactionId, token }) => nameOf(config.key, written.transaction(transactionId), token.symbol)),
    );
    return paid.map(({ index, block, token, units }, at) => ({
      key: keys[at] ?? '',
      index: config.family === 'evm' ? index : null,
      currency: token.symbol,
      par: toPar(units, token.decimals),
      atS: block.timeS,
      graceS: options.some(({ networkKey }) => networkKey === config.key) ? config.inclusionGraceS : 0,
      isDeep: config.confirmations.every(
        ({ blocks = 0, finality }) =>
          tip - block.number + 1 >= blocks && (finality !== 'finalized' || block.number <= world.finalized().number),
      ),
    }));
  });
}

const sum = (credits: readonly Credit[]): bigint => credits.reduce((total, { par }) => total + par, 0n);

async function sessionOf(database: Database, id: string): Promise<Session> {
  const session = await database.sessions.find(id);
  assert.ok(session, `session ${id} is there`);
  return session as Session;
}

/** At any time: nothing is confirmed that was never deep enough, and nothing is shown that was never in a block. */
export async function auditNow({ database, networks, sessionIds }: Audited): Promise<void> {
  for (const id of sessionIds) {
    const { payments } = await sessionOf(database, id);
    for (const payment of payments) auditPayment(networks, payment);
    for (const network of networks) auditTiers(network, id, payments);
  }
}

/**
 * Payments that a session has credited, not final, without what a tier needs are together less than where the tier
 * begins. So nobody gains by splitting a payment.
 */
function auditTiers({ config, written, witness }: AuditedNetwork, id: string, payments: readonly Payment[]): void {
  const early = payments
    .filter(({ networkKey, state }) => networkKey === config.key && (state === 'confirmed' || state === 'final'))
    .map((payment) => ({ ...payment, hash: written.digits(payment.block) }))
    .filter(({ hash }) => !witness.wasFinal(hash));
  for (const { fromPar = 0n, blocks = 1, finality } of config.confirmations) {
    const without = early.filter(({ hash }) => finality === 'finalized' || witness.deepest(hash) < blocks);
    const par = without.reduce((total, { units, decimals }) => total + toPar(units, decimals), 0n);
    assert.ok(par === 0n || par < fromPar, `${id}: ${par} counts on ${config.key} without what ${fromPar} needs`);
  }
}

function auditPayment(networks: readonly AuditedNetwork[], payment: Payment): void {
  const name = nameOf(payment.networkKey, payment.tx, payment.currency);
  const network = networks.find(({ config }) => config.key === payment.networkKey);
  assert.ok(network, `${name}: its network is one of ours`);
  if (!network) return;
  const { witness, written } = network;
  const hash = written.digits(payment.block);
  const transaction = witness.block(hash)?.transactions.find(({ id }) => written.transaction(id) === payment.tx);
  assert.ok(transaction?.succeeded, `${name} was really in block ${payment.block}, as a success`);
  if (payment.state !== 'confirmed' && payment.state !== 'final') return;
  const depth = witness.deepest(hash);
  const par = toPar(payment.units, payment.decimals);
  for (const { fromPar = 0n, blocks = 1, finality } of network.config.confirmations) {
    if (par < fromPar) continue;
    assert.ok(depth >= blocks, `${name} counted at depth ${depth} of ${blocks}`);
    assert.ok(finality !== 'finalized' || witness.wasFinal(hash), `${name} was final before it counted`);
  }
}

/**
 * At the end, with healthy nodes, indexers at the head, past every deadline: all money is where it belongs, exactly
 * once.
 */
export async function auditEnd(audited: Audited, events: readonly ClaimedDelivery[]): Promise<void> {
  await auditNow(audited);
  for (const id of audited.sessionIds) {
    const session = await sessionOf(audited.database, id);
    const credits = creditsOf(audited.networks, session);
    auditCredits(session, credits);
    auditStatus(session, credits);
    auditHeld(session, await audited.database.held.list({ sessionId: id, limit: 10 }));
    auditEvents(
      session,
      events.filter((event) => event.sessionId === id),
    );
  }
}

/** Every canonical transfer counts once, confirmed; nothing else counts. */
function auditCredits({ id, payments, standing, terms }: Session, credits: readonly Credit[]): void {
  const standingOnes = payments.filter(({ state }) => state !== 'orphaned').toSorted((a, b) => a.index - b.index);
  const keys = numbered(standingOnes.map(({ networkKey, tx, currency }) => nameOf(networkKey, tx, currency)));
  const onChain = credits.map(({ key }) => key);
  const lost = onChain.filter((key) => !keys.includes(key));
  const invented = keys.filter((key) => !onChain.includes(key));
  assert.ok(
    lost.length + invented.length === 0,
    `${id}: the valid payments are those on the chain; lost: ${lost.join(', ')}; not on it: ${invented.join(', ')}`,
  );
  for (const [at, payment] of standingOnes.entries()) {
    const name = keys[at];
    const credit = credits.find(({ key }) => key === name);
    assert.is(toPar(payment.units, payment.decimals), credit?.par, `${id} ${name}: value`);
    if (credit && credit.index !== null) assert.is(payment.index, credit.index, `${id} ${name}: index in the block`);
    assert.ok(payment.state !== 'seen' || !credit?.isDeep, `${id} ${name} is deep enough and must be confirmed`);
  }
  const accepted = credits.filter(({ currency }) => (terms.accepts as readonly string[]).includes(currency));
  const held = standing.seenPar + standing.confirmedPar + standing.latePar;
  assert.ok(held <= sum(credits), `${id}: no more is held than was paid`);
  assert.ok(held >= sum(accepted), `${id}: all that was paid in a currency it takes is held`);
}

const CENT_PAR = 10n ** (PAR_DECIMALS - 2n);

/** Whether a currency pays the session. */
const isTaken = ({ life, terms }: Pick<Session, 'life' | 'terms'>, currency: string): boolean =>
  life.takesAnyToken || (terms.accepts as readonly string[]).includes(currency);

/**
 * Confirmed money that does not pay the session waits for a decision or was decided about, to within a cent of each
 * kind.
 */
function auditHeld(session: Session, held: readonly HeldMoney[]): void {
  const { id, life, terms, payments } = session;
  const firm = payments.filter(({ state }) => state === 'confirmed' || state === 'final');
  const parOf = (all: readonly Payment[]) => all.reduce((total, one) => total + toPar(one.units, one.decimals), 0n);
  const takenPar = parOf(firm.filter(({ currency }) => isTaken(session, currency)));
  const overPar = takenPar > terms.duePar ? takenPar - terms.duePar : 0n;
  const expectedPar = parOf(firm) - takenPar + (life.status === 'paid' ? overPar : takenPar);
  const heldPar = held.reduce((total, { valuePar }) => total + valuePar, 0n);
  const missing = expectedPar - heldPar;
  assert.ok(missing >= 0n && missing < 3n * CENT_PAR, `${id} is ${life.status}: ${heldPar} of ${expectedPar} is held`);
  for (const { state, kind, valuePar, settledPar } of held) {
    assert.is(
      state === 'open',
      valuePar - settledPar >= CENT_PAR,
      `${id}: ${kind} ${state}, ${settledPar} of ${valuePar}`,
    );
  }
}

function auditStatus(session: Session, credits: readonly Credit[]): void {
  const { id, life, terms, standing } = session;
  const accepted = credits.filter(({ currency }) => isTaken(session, currency));
  const enough = terms.duePar - terms.tolerancePar;
  const inTime = sum(accepted.filter(({ atS, graceS }) => atS <= terms.expiresAtS + graceS));
  switch (life.status) {
    case 'pending':
      assert.unreachable(`${id} is still pending after every deadline`);
      break;
    case 'paid':
      assert.is(standing.confirmedPar + standing.seenPar, sum(accepted), `${id} is paid: everything it takes counts`);
      break;
    case 'canceled':
      break;
    case 'expired':
    case 'failed':
      assert.ok(inTime < enough, `${id} is ${life.status} although enough came in time`);
      break;
  }
  // A paid session whose money was removed by a deep reorg stays paid; all others have what they were promised.
  if (life.status === 'paid' && sum(accepted) < enough) assert.ok(life.paidAtS !== null);
}

const statusOfEvent: Readonly<Record<string, string>> = {
  'payment.completed': 'paid',
  'payment.failed': 'failed',
  'payment.expired': 'expired',
  'payment.cancelled': 'canceled',
};
const toldAs = (status: string): string => (status === 'paid' ? 'completed' : status);
const statusesAhead = (events: readonly ClaimedDelivery[]): string[] =>
  events.flatMap(({ eventType }) => statusOfEvent[eventType] ?? []);
/**
 * Which status may follow which. Money that was read late, or that a store accepts late, may still pay an ended
 * session.
 */
const mayFollow: Readonly<Record<string, readonly string[]>> = {
  pending: ['paid', 'failed', 'expired', 'canceled'],
  failed: ['paid'],
  expired: ['paid'],
  canceled: ['paid'],
  paid: [],
};

/** The events of a session are a legal path to its present state; their bodies agree with them. */
function auditEvents({ id, life, request, terms }: Session, events: readonly ClaimedDelivery[]): void {
  let status = 'pending';
  let lastId = '';
  for (const [at, { eventId, eventType, body }] of events.entries()) {
    assert.ok(eventId.length === lastId.length || lastId === '', `${id}: event ids are of one length`);
    assert.ok(eventId > lastId, `${id}: event ${eventId} comes after ${lastId}`);
    lastId = eventId;
    const next = statusOfEvent[eventType];
    if (next) {
      assert.ok(mayFollow[status]?.includes(next), `${id}: ${eventType} while it was ${status}`);
      status = next;
    }
    if (eventType === 'payment.reversed') assert.is(status, 'paid', `${id}: only what was paid is reversed`);
    if (eventType === 'payment.late') assert.is.not(status, 'pending', `${id}: late is announced after the end`);
    const { object } = JSON.parse(body).data;
    has(object, { session_id: id, order_id: request.orderId });
    // An event without a status of its own may have the same moment as the next one that has one.
    const ahead = next ?? statusesAhead(events.slice(at))[0] ?? status;
    assert.ok(
      [status, ahead].map(toldAs).includes(object.status),
      `${id}: ${eventType} says ${object.status} while it was ${status} and before it is ${ahead}`,
    );
    if (eventType === 'payment.completed') {
      const duePar = terms.duePar - terms.tolerancePar;
      assert.ok(BigInt(object.amount) * 10n ** (PAR_DECIMALS - 2n) >= duePar, `${id}: it was paid in full`);
    }
  }
  assert.is(status, life.status, `${id}: the last event has its status`);
}
