/**
 * A database with a merchant, addresses and two networks, where these suites start, and a feed for each network.
 */

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { BlockRef } from '../../../src/core/block.ts';
import type { ChainTransfer, Currency, NetworkKey } from '../../../src/core/transfer.ts';
import type { OperatorAct } from '../../../src/database/audit-log.ts';
import type { PaymentOption, SessionRequest, StoreSettings } from '../../../src/database/column-values.ts';
import type { Database } from '../../../src/database/database.ts';
import type { NewEndpoint } from '../../../src/database/endpoints.ts';
import type { Ingest, IngestOutcome } from '../../../src/database/ingest.ts';
import type { NetworkState } from '../../../src/database/networks.ts';
import type { Session } from '../../../src/database/session.ts';
import type { CreateSessionOutcome, NewSession } from '../../../src/database/sessions.ts';
import type { NewStore } from '../../../src/database/stores.ts';
import { audit } from '../../database/engine/audit.ts';
import { mayScan, watchPlans } from '../../database/engine/plans.ts';
import { ingestStep } from '../../support/ingested-chain.ts';
import { networkReport } from '../../support/network-report.ts';
import { plainRequest } from '../../support/new-session.ts';
import { claimDue } from '../../support/record-attempt.ts';
import { openTempDatabase, type TempDatabase } from '../../support/temp-database.ts';

/** Someone who runs a command of `quayside`. */
export const act = (command: string, atMs = T0_MS): OperatorAct => ({
  atMs,
  operator: 'alice',
  command,
  reason: 'a test',
});

export const T0_MS = 1_800_000_000_000;
export const T0_S = T0_MS / 1000;
export const OUTAGE_WAIT_S = 600;
/** No transfer is dust by default: these suites count single base units. */
export const DUST_FLOOR_PAR = 1n;
const POOL_SIZE = 40;

/** Returns the n-th address of the sample pool. */
export const keyOf = (n: number): string => n.toString(16).padStart(40, '0');
export const pool = { family: 'evm', mode: 'test' } as const;

export const settings: StoreSettings = {
  settlementCurrency: 'USDT',
  toleranceMinor: 0,
  topUpGraceS: 1800,
  monitoringS: 7 * 86_400,
  latePolicy: 'hold',
  credit: '',
};

export const merchant = (id: string, more: Partial<StoreSettings> = {}): NewStore => ({
  id,
  name: `Shop ${id}`,
  status: 'approved',

  settings: { ...settings, ...more },
  zone: 'UTC',
  webhookSecrets: { live: `whsec_live_of_${id}`, test: `whsec_of_${id}` },
  createdAtMs: T0_MS,
});

export const endpoint = (id: string, more: Partial<NewEndpoint> = {}): NewEndpoint => ({
  id,
  storeId: 'm1',
  mode: 'test',
  url: `https://shop.example/${id}`,
  extendedEvents: [],
  createdAtMs: T0_MS,
  ...more,
});

/** One stablecoin on one of the two sample networks; 6 decimals on `one`, 18 on `two`, as on Ethereum and BSC. */
export function option(network: 'one' | 'two', currency: Currency, dueMinor: bigint): PaymentOption {
  const decimals = network === 'one' ? 6 : 18;
  return {
    network,
    networkKey: `test:${network}`,
    family: 'evm',
    chainId: network === 'one' ? '1' : '56',
    currency,
    token: `0x${currency}`,
    decimals,
    units: dueMinor * 10n ** BigInt(decimals - 2),
    confirmationsRequired: 3,
  };
}

export const request = (orderId: string, more: Partial<SessionRequest> = {}): SessionRequest => ({
  ...plainRequest(orderId, 1000n),
  ...more,
});

/** How a generation ended that is followed by the next one at once. */
export const renewal = { proof: 'dead', ended: null, notBeforeMs: T0_MS, isStuck: false, why: null } as const;

/** A session over 10.00, payable in either coin on either network. */
export function newSession(orderId: string, more: Partial<NewSession> = {}): NewSession {
  return {
    id: `cs_${orderId}`,
    storeId: 'm1',
    mode: 'test',
    request: request(orderId),
    conversion: null,
    duePar: 10n * 10n ** 18n,
    accepts: ['USDT', 'USDC'],
    expiresInS: 1800,
    inclusionGraceS: {},
    reorgDepthsMax: {},
    options: [
      option('one', 'USDT', 1000n),
      option('one', 'USDC', 1000n),
      option('two', 'USDT', 1000n),
      option('two', 'USDC', 1000n),
    ],
    replay: { idempotencyKey: null, path: '/sessions/create', bodyHash: `body of ${orderId}` },
    nowMs: T0_MS,
    ...more,
  };
}

/** Returns the session of an outcome that must be a success. */
export function sessionOf(outcome: CreateSessionOutcome): Session {
  assert.ok(outcome.kind === 'created' || outcome.kind === 'replayed', `not ${outcome.kind}`);
  return outcome.session;
}

/** Returns the address of a session. */
export function addressOf(session: Session): string {
  const key = session.addresses.evm;
  assert.ok(key, 'a session has an address');
  return key;
}

/** Creates a session. @returns its address */
export const start = async (database: Database, id: string, more: Partial<NewSession> = {}): Promise<string> =>
  addressOf(sessionOf(await database.sessions.create(newSession(id, more))));

let transfersMade = 0;

/** A transfer of `minor` hundredths, in the decimals of the sample network. */
export function pays(
  to: string,
  minor: bigint,
  more: Partial<ChainTransfer> & { network?: 'one' | 'two' } = {},
): ChainTransfer {
  const { network = 'one', ...fields } = more;
  const decimals = network === 'one' ? 6n : 18n;
  transfersMade++;
  return {
    tx: `0xtx${transfersMade}`,
    index: 0,
    currency: 'USDT',
    from: 'fe'.repeat(20),
    to,
    units: minor * 10n ** (decimals - 2n),
    ...fields,
  };
}

/** Acts as a follower: keeps the canonical chain that it has saved, and saves the next step. */
export class Feed {
  readonly network: NetworkKey;
  /** The database to save to; another connection after a restart. */
  database: Database;
  readonly #decimals: number;
  /** Counts blocks, so that every hash is new; another feed on the same data starts above the first one's count. */
  blocksMade = 0;
  chain: BlockRef[] = [];
  nowMs = T0_MS;

  constructor(database: Database, name: 'one' | 'two') {
    this.database = database;
    this.network = `test:${name}`;
    this.#decimals = name === 'one' ? 6 : 18;
  }

  /** A child of `parent` (the tip when left out); its time is the clock's by default. */
  child(parent = this.chain.at(-1), timeS = Math.floor(this.nowMs / 1000)): BlockRef {
    this.blocksMade++;
    return {
      hash: `${this.network}/${this.blocksMade}`,
      parent: parent?.hash ?? 'genesis',
      number: (parent?.number ?? 99) + 1,
      timeS,
    };
  }

  step(more: Partial<Ingest>): Promise<IngestOutcome> {
    const { network, nowMs } = this;
    const expectTip = this.chain.at(-1)?.hash ?? null;
    const decimals = { USDT: this.#decimals, USDC: this.#decimals };
    const step = { network, nowMs, expectTip, decimals, dustFloorPar: DUST_FLOOR_PAR, ...more };
    return this.database.blocks.ingest(ingestStep(step));
  }

  /** Adds one block. */
  async mine(transfers: readonly ChainTransfer[] = [], timeS?: number): Promise<BlockRef> {
    const block = this.child(undefined, timeS);
    assert.is(await this.step({ connect: [{ block, transfers }] }), 'done');
    this.chain.push(block);
    return block;
  }

  async confirm(...blocks: readonly BlockRef[]): Promise<void> {
    assert.is(await this.step({ confirm: blocks }), 'done');
  }

  /** Replaces the newest `depth` blocks with new ones of these contents. @returns the new blocks */
  async reorg(depth: number, contents: readonly (readonly ChainTransfer[])[]): Promise<BlockRef[]> {
    const dropped = this.chain.slice(this.chain.length - depth);
    const kept = this.chain.slice(0, this.chain.length - depth);
    const connect: { block: BlockRef; transfers: readonly ChainTransfer[] }[] = [];
    for (const transfers of contents) {
      connect.push({ block: this.child(connect.at(-1)?.block ?? kept.at(-1)), transfers });
    }
    assert.is(await this.step({ drop: dropped.map(({ hash }) => hash), connect }), 'done');
    this.chain = [...kept, ...connect.map(({ block }) => block)];
    return connect.map(({ block }) => block);
  }

  /** Replaces the newest `depth` blocks with blocks that were dropped before. */
  async reconnect(depth: number, back: readonly { block: BlockRef; transfers: readonly ChainTransfer[] }[]) {
    const drop = this.chain.slice(this.chain.length - depth).map(({ hash }) => hash);
    const outcome = await this.step({ drop, connect: back });
    this.chain = [...this.chain.slice(0, this.chain.length - depth), ...back.map(({ block }) => block)];
    return outcome;
  }

  /** Reports how far the network has been read, without a block; the node's head is our tip if left out. */
  readThrough(
    readThroughS: number,
    state: NetworkState = 'following',
    headNumber = this.chain.at(-1)?.number ?? null,
  ): Promise<void> {
    const reason = state === 'halted' ? { code: 'deep_reorg', message: 'block 5 left the chain' } : null;
    const seen = { state, reason, headNumber, readThroughS };
    return this.database.networks.report(networkReport(this.network, this.nowMs, seen));
  }
}

/** Adds merchant `m1`, and addresses that all sessions may take. */
export async function addShop(database: Database, addresses: number, more?: Partial<StoreSettings>): Promise<void> {
  await database.stores.create(merchant('m1', more));
  const keys = Array.from({ length: addresses }, (_, at) => keyOf(at + 1));
  await database.addresses.add({ ...pool, source: 'xpub one', firstIndex: 0, keys });
}

export type World = Readonly<{ database: Database; place: TempDatabase; one: Feed; two: Feed }>;

/**
 * Runs a test in its own database: merchant `m1`, 40 addresses, both networks followed from their first block on.
 * Its transfers are numbered from one. No statement may scan a table.
 * @param server see `openTempDatabase`
 */
export function inWorld(work: (world: World) => Promise<void>, more?: Partial<StoreSettings>, server?: string | null) {
  return async (): Promise<void> => {
    transfersMade = 0;
    const place = openTempDatabase(OUTAGE_WAIT_S, server);
    try {
      const { database } = place;
      await addShop(database, POOL_SIZE, more);
      const one = new Feed(database, 'one');
      const two = new Feed(database, 'two');
      await one.mine();
      await two.mine();
      await mayScan(() => booksAgree(database));
      const checkPlans = watchPlans();
      await work({ database, place, one, two });
      if (!place.isServer) checkPlans(place.file);
      await booksAgree(database);
      assert.equal(audit(await place.rows()), []);
    } finally {
      place.close();
    }
  };
}

/** A suite whose every test runs in a world of its own. */
export function inWorlds(name: string) {
  const test = suite(name);
  const add = (title: string, work: (world: World) => Promise<void>, more?: Partial<StoreSettings>) =>
    test(title, inWorld(work, more));
  return Object.assign(add, { run: () => test.run() });
}

/** Advances both networks and the clock. */
export async function passTo({ database, one, two }: World, timeS: number): Promise<void> {
  one.nowMs = two.nowMs = timeS * 1000;
  await one.mine();
  await two.mine();
  await database.sessions.settleDue(one.nowMs, 100);
}

/** Checks that the ledger is sound. @returns what each account holds, by network, asset and name */
export async function booksAgree(database: Database): Promise<Record<string, bigint>> {
  const { problems, balances } = await database.ledger.verify();
  assert.equal(problems, []);
  return Object.fromEntries(
    balances.map(({ network, asset, account, units }) => [`${network} ${asset} ${account}`, units]),
  );
}

/** Returns the session in its current state. */
export async function show(database: Database, id: string): Promise<Session> {
  const session = await database.sessions.find(id);
  assert.ok(session, `session ${id} is found`);
  return session;
}

/** Leases everything that is due for a minute. */
export const claimAll = claimDue;

/** Returns the types of a session's events, in order, as an endpoint that opted in to all of them gets them. */
export async function eventTypes(database: Database, sessionId: string): Promise<string[]> {
  const deliveries = await database.deliveries.list({ sessionId, limit: 1000 });
  return deliveries.map(({ eventType }) => eventType).reverse();
}

export const allExtended = ['payment.detected', 'payment.partially_paid', 'payment.late', 'payment.reversed'] as const;

/** Expects the promise to fail with a fault of this code. */
export async function fails(work: Promise<unknown>, code: string): Promise<void> {
  const error = await work.then(
    () => null,
    (reason: unknown) => reason as { code?: string },
  );
  assert.is(error?.code, code, `fails with ${code}, not with ${String(error)}`);
}

/** Expects the promise to fail because an assumption of the program, or a constraint of the database, is broken. */
export async function breaks(work: Promise<unknown>): Promise<void> {
  const error = await work.then(
    () => null,
    (reason: unknown) => reason as { name?: string },
  );
  const isBroken = error?.name === 'InvariantBroken' || error?.name === 'ConstraintFailed';
  assert.ok(isBroken, `breaks an invariant or a constraint, not ${String(error)}`);
}

/** Cancels a session. */
export function cancelSession(database: Database, id: string, nowMs = T0_MS) {
  const replay = { idempotencyKey: null, path: '/cancel', bodyHash: '' };
  return database.sessions.cancel({ id, storeId: 'm1', mode: 'test', replay, nowMs });
}

/** Cancels a new session: the easiest way to one documented event for each endpoint. */
export async function cancelNew(
  database: Database,
  orderId: string,
  nowMs = T0_MS,
  webhookUrl: string | null = null,
): Promise<void> {
  await start(database, orderId, { request: request(orderId, { webhookUrl }) });
  await cancelSession(database, `cs_${orderId}`, nowMs);
}
