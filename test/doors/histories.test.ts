/**
 * Seeded histories of orders in all dialects, each signed, read and answered by the codecs. Nothing but a paid row is
 * signed as a success; an order has one open session at most, one notice at most, and its own amount.
 *
 *   HISTORIES=10000 npm test doors/histories      a failure names the SEED
 */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { type DoorDialect, doorDialects } from '../../src/core/door.ts';
import { invariant } from '../../src/core/fault.ts';
import { minorToPar } from '../../src/core/money.ts';
import type { Database } from '../../src/database/database.ts';
import type { Door } from '../../src/database/doors.ts';
import type { ClaimedDelivery } from '../../src/database/sending.ts';
import type { Session } from '../../src/database/session.ts';
import * as epay from '../../src/doors/epay/codec.ts';
import * as epusdt from '../../src/doors/epusdt/codec.ts';
import { isDoorFault } from '../../src/doors/faults.ts';
import { doorFormats } from '../../src/doors/notices.ts';
import { type DoorDeps, placeOrder } from '../../src/doors/orders.ts';
import { readFields } from '../../src/doors/signed.ts';
import { paidOrder } from '../../src/doors/success.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { openLog } from '../../src/lib/log.ts';
import {
  act,
  inWorld,
  keyOf,
  newSession,
  option,
  pays,
  pool,
  T0_MS,
  type World,
} from '../conformance/database/place.ts';
import { createRandom, type Random } from '../support/random.ts';
import { claimDue, recordAttempt } from '../support/record-attempt.ts';
import { md5Of } from './requests.ts';

const HISTORIES = Number(process.env.HISTORIES ?? 200);
const SEED = Number(process.env.SEED ?? 1);
const KEY = 'k'.repeat(32);
const STEPS = 14;
const MINUTE_MS = 60_000;

type Fields = Readonly<Record<string, string>>;

function read({ dialect, pid }: Door, asked: Readonly<{ orderNo: string; money: string; notify: string }>) {
  const { orderNo, money, notify } = asked;
  const own: Fields =
    dialect === 'epay'
      ? { pid: String(pid), out_trade_no: orderNo, money, notify_url: notify, name: 'VIP', type: 'alipay' }
      : { order_id: orderNo, amount: money, notify_url: notify };
  const fields: Fields = dialect === 'gmpay' ? { ...own, pid: String(pid), currency: 'usd' } : own;
  const signed = new URLSearchParams({ ...fields, [dialect === 'epay' ? 'sign' : 'signature']: md5Of(fields, KEY) });
  const received = readFields(signed.toString());
  invariant(!isDoorFault(received), 'the request is well-formed');
  return dialect === 'epay'
    ? epay.readOrder(received, { key: KEY, currency: 'USD' })
    : epusdt.readOrder(dialect, { fields: received, numbers: new Set() }, epusdtDoor, dialect === 'bepusdt');
}

const epusdtDoor = { key: KEY, currency: 'USD', algorithm: 'md5' } as const;

/** One order's history. */
class History {
  readonly orderNo: string;
  readonly #world: World;
  readonly #door: Door;
  readonly #dice: Random['int'];
  readonly #money: string;
  readonly #notices: ClaimedDelivery[] = [];
  readonly #sessions = new Map<string, Session>();
  database: Database;

  constructor(world: World, door: Door, seed: number, database: Database) {
    this.#world = world;
    this.#door = door;
    this.#dice = createRandom('doors', seed).int;
    this.orderNo = `N${seed}`;
    this.#money = `${1 + this.#dice(50)}.${String(this.#dice(100)).padStart(2, '0')}`;
    this.database = database;
  }

  get #nowMs(): number {
    return this.#world.one.nowMs;
  }

  /** Makes a session as the server does. `dies`: after which step the server ends. */
  #deps(dies: 'never' | 'before' | 'after'): DoorDeps {
    const { database } = this;
    return {
      database,
      clock: { nowMs: () => this.#nowMs },
      log: openLog('test', 'silent'),
      config: { networks: [], checkoutUrl: 'https://pay.example', limits: {} } as unknown as DoorDeps['config'],
      checkWebhookUrl: async () => null,
      refundForDoor: async () => 'no',
      createForDoor: async (_owner, { id, orderId, amountMinor, currency }) => {
        if (dies === 'before') throw new Error('the server ended');
        const name = `${this.orderNo}x${this.#sessions.size}`;
        const made = newSession(name, { doorOrder: id, nowMs: this.#nowMs });
        const outcome = await database.sessions.create({
          ...made,
          request: { ...made.request, orderId, amountMinor, currency },
          duePar: minorToPar(amountMinor),
          options: [option('one', 'USDT', amountMinor)],
          replay: { ...made.replay, bodyHash: id },
        });
        if (!('session' in outcome)) return { refusal: outcome.kind, code: outcome.kind };
        this.#sessions.set(outcome.session.id, outcome.session);
        if (dies === 'after') throw new Error('the server ended');
        return outcome;
      },
    };
  }

  async #create(change: 'nothing' | 'money' | 'notify', dies: 'never' | 'before' | 'after' = 'never'): Promise<void> {
    const money = change === 'money' ? '0.01' : this.#money;
    const notify = `https://panel.example/${change === 'notify' ? 'other' : 'notify'}`;
    const asked = read(this.#door, { orderNo: this.orderNo, money, notify });
    invariant(!isDoorFault(asked), `the request is accepted, not ${JSON.stringify(asked)}`);
    const isKnown = (await this.#order()) !== null;
    if (!isKnown && change !== 'nothing') return;
    try {
      const placed = await placeOrder(this.#deps(dies), this.#door, asked);
      if (change !== 'nothing' && money !== this.#money) assert.ok(isDoorFault(placed) && placed.code === 'changed');
      if (change === 'nothing') assert.not.ok(isDoorFault(placed) && placed.code, 'the same request again is no fault');
    } catch (error) {
      if (dies === 'never') throw error;
    }
  }

  #order() {
    return this.database.doors.findOrder({ endpointId: this.#door.id, orderNo: this.orderNo });
  }

  /** Pays hundredths of what is due to one of the sessions. */
  async #pay(hundredths: number): Promise<void> {
    const all = [...this.#sessions.values()];
    const session = all[this.#dice(Math.max(1, all.length))];
    if (!session) return;
    const minor = (session.request.amountMinor * BigInt(hundredths) + 99n) / 100n;
    const { one } = this.#world;
    await one.confirm(await one.mine([pays(session.addresses.evm ?? '', minor)]));
  }

  async #wait(minutes: number): Promise<void> {
    const { one } = this.#world;
    one.nowMs += minutes * MINUTE_MS;
    await one.readThrough(Math.floor(one.nowMs / 1000));
    await this.database.sessions.settleDue(one.nowMs, 1_000);
  }

  async #cancel(): Promise<void> {
    const order = await this.#order();
    if (!order?.sessionId) return;
    const replay = { idempotencyKey: null, path: '', bodyHash: '' };
    const { storeId, mode } = this.#door;
    await this.database.sessions.cancel({ id: order.sessionId, storeId, mode, replay, nowMs: this.#nowMs });
  }

  async #accept(): Promise<void> {
    for (const sessionId of this.#sessions.keys()) {
      const [held] = await this.database.held.list({ sessionId, state: 'open', limit: 1 });
      if (held) await this.database.held.accept(held.id, act('held accept', this.#nowMs), false);
    }
  }

  /** Sends what is due; the panel answers at random. */
  async #send(): Promise<void> {
    for (const claimed of await claimDue(this.database, this.#nowMs)) {
      invariant(claimed.door, 'there are no webhooks');
      if (claimed.door.order.orderNo === this.orderNo) this.#notices.push(claimed);
      const format = doorFormats[claimed.door.dialect];
      const { url, body } = format.request(claimed, systemClock);
      const sent = body === null ? Object.fromEntries(new URL(url).searchParams) : JSON.parse(body);
      const { order } = claimed.door;
      assert.is(Number(sent.money ?? sent.amount), Number(order.terms.money), 'the order’s amount');
      const session = await this.database.sessions.find(claimed.sessionId);
      assert.is(session?.life.status, 'paid');
      assert.is(session?.request.amountMinor, BigInt(order.terms.money.replace('.', '')));
      const { sign, signature = sign, sign_type: _, ...own } = sent;
      const texts = Object.fromEntries(Object.entries(own).map(([name, value]) => [name, String(value)]));
      assert.is(signature, md5Of(texts, KEY));
      const kind = format.judge({ kind: 'answered', status: 200, retryAfterMs: null }, this.#dice(3) ? 'ok' : 'no');
      const verdict = kind === 'retry' ? { kind, atMs: this.#nowMs } : { kind };
      const went = { startedAtMs: this.#nowMs, durationMs: 0, status: 200, error: null };
      await recordAttempt(this.database, claimed, went, verdict);
    }
  }

  async step(): Promise<void> {
    const steps = [
      ...[() => this.#create('nothing'), () => this.#create('nothing'), () => this.#create('money')],
      ...[
        () => this.#create('notify'),
        () => this.#create('nothing', 'before'),
        () => this.#create('nothing', 'after'),
      ],
      ...[() => this.#pay(40), () => this.#pay(100), () => this.#pay(100), () => this.#pay(160)],
      ...[() => this.#wait(1), () => this.#wait(65), () => this.#cancel(), () => this.#cancel()],
      ...[() => this.#accept(), () => this.#accept(), () => this.#send()],
    ];
    await steps[this.#dice(steps.length)]?.();
    await this.#check();
  }

  async #check(): Promise<void> {
    const order = await this.#order();
    const ids = [...this.#sessions.keys()];
    const sessions = await Promise.all(ids.map((id) => this.database.sessions.find(id)));
    const statuses = sessions.map((session) => session?.life.status);
    assert.ok(statuses.filter((status) => status === 'pending').length <= 1, 'one open session');
    const paid = order && paidOrder(this.#door.pid, order);
    assert.is(paid !== null, statuses.includes('paid'), 'success is signed for what is paid alone');
    if (paid) assert.is(statuses[ids.indexOf(order?.paidSessionId ?? '')], 'paid');
    const shown = order && epay.orderAnswer({ ...order, paidAtS: null }, paid, { pid: 1, method: 'GET', pageUrl: '' });
    assert.is(JSON.stringify(shown).includes('TRADE_SUCCESS'), paid !== null);
  }

  /** Ends the history: sends what waits. @returns how often its order was notified */
  async end(): Promise<void> {
    await this.#send();
    await this.#check();
    const deliveries = new Set(this.#notices.map(({ id }) => id));
    const isPaid = (await this.#order())?.paid != null;
    assert.is(deliveries.size, isPaid ? 1 : 0, 'one notice for an order that is paid');
  }
}

test(
  `${HISTORIES} histories from seed ${SEED} on`,
  inWorld(async (world) => {
    const { database, place, one } = world;
    const keys = Array.from({ length: HISTORIES * 5 }, (_, at) => keyOf(at + 1_000));
    await database.addresses.add({ ...pool, source: 'xpub one', firstIndex: 40, keys });
    const doors = new Map<DoorDialect, Door>();
    for (const dialect of doorDialects) {
      await database.doors.add(
        {
          id: `we_${dialect}`,
          storeId: 'm1',
          mode: 'test',
          dialect,
          key: KEY,
          createdAtMs: T0_MS,
          settings: { currency: 'USD', takesRefunds: false, algorithm: 'md5' },
          urlOf: String,
        },
        act('door add'),
      );
      const [door] = await database.doors.ofDialect(dialect);
      invariant(door, 'the door is open');
      doors.set(dialect, door);
    }
    let connected = database;
    for (let seed = SEED; seed < SEED + HISTORIES; seed++) {
      const door = doors.get(doorDialects[seed % doorDialects.length] as DoorDialect);
      invariant(door, 'there is a door of each dialect');
      // A server that is started again.
      if (seed % 10 === 0) {
        if (connected !== database) connected.close();
        connected = place.connect();
      }
      const history = new History(world, door, seed, connected);
      try {
        one.nowMs += MINUTE_MS;
        await one.readThrough(Math.floor(one.nowMs / 1000));
        for (let step = 0; step < STEPS; step++) await history.step();
        await history.end();
      } catch (error) {
        const why = error instanceof Error ? error.stack : String(error);
        throw new Error(`SEED=${seed} HISTORIES=1 plays it again: ${why}`);
      }
    }
    if (connected !== database) connected.close();
  }),
);

test.run();
