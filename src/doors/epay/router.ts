/**
 * The routes of EPay, on the root and under any prefix of one segment: `submit.php` for browsers, `mapi.php` and
 * `api.php` for servers; and the payer's return from the payment page.
 */
import type { Request, RequestHandler, Router } from 'express';
import type { Door, ShownOrder } from '../../database/doors.ts';
import { DAY_MS } from '../../lib/clock.ts';
import { addQuery } from '../../lib/form.ts';
import { html } from '../../lib/html.ts';
import { BodyError, readBody } from '../../lib/request-body.ts';
import { paymentUrl } from '../../payments/payment-url.ts';
import { documentOf } from '../../web/document.ts';
import { type DoorFault, doorFault, faultText, isDoorFault } from '../faults.ts';
import { type DoorDeps, placeOrder } from '../orders.ts';
import { type Fields, readFields } from '../signed.ts';
import { paidOrder } from '../success.ts';
import { readMoney } from '../words.ts';
import * as codec from './codec.ts';

const BODY_BYTES_MAX = 16_384;
const ORDERS_MAX = 50;
/** The path of Epusdt's newer servers. */
const EPUSDT_PATH = '/payments/epay/v1/order/create-transaction';
const PID = /^[1-9]\d{3,9}$/;
const ENGLISH = { code: 'en', direction: 'ltr' } as const;
const UNKNOWN_ACT = { code: -5, msg: 'act is unknown' };

type Asked = Readonly<{ door: Door; fields: Fields; method: string }>;

/** Serves the routes. */
export function serveEpay(router: Router, deps: DoorDeps): void {
  const handlers = { 'submit.php': submit(deps), 'mapi.php': create(deps), 'api.php': answerApi(deps) };
  for (const [file, handler] of Object.entries(handlers)) {
    // A base URL that ends in a slash makes two of them.
    for (const path of [`/${file}`, `//${file}`, `/:prefix/${file}`]) router.route(path).get(handler).post(handler);
  }
  const { 'submit.php': open } = handlers;
  router.route(`${EPUSDT_PATH}/submit.php`).get(open).post(open);
  router.get('/:pid/return/:id', sendBack(deps));
}

/** Opens the payment page in the payer's browser. The panel's form brought it here. */
const submit =
  (deps: DoorDeps): RequestHandler =>
  async (request, response) => {
    const asked = await readAsked(deps, request);
    const page = isDoorFault(asked) ? asked : await place(deps, asked);
    if (isDoorFault(page)) {
      logFault(deps, request, page);
      // Clients that create by POST take any 200 for success.
      const title = 'This payment cannot be made';
      const text = html`<main><h1>${title}</h1><p>${faultText(page)}</p></main>`;
      response
        .status(400)
        .type('html')
        .send(documentOf(ENGLISH, title, html``, text));
      return;
    }
    response.redirect(302, page.pageUrl);
  };

/** Answers a panel's server, always with 200: some clients read no other answer. */
const answering =
  (deps: DoorDeps, work: (asked: Asked) => Promise<object | DoorFault>): RequestHandler =>
  async (request, response) => {
    const asked = await readAsked(deps, request);
    const answer = isDoorFault(asked) ? asked : await work(asked);
    if (isDoorFault(answer)) logFault(deps, request, answer);
    response.json(isDoorFault(answer) ? codec.faultAnswer(answer) : answer);
  };

/** Answers with the address of the payment page. */
const create = (deps: DoorDeps): RequestHandler =>
  answering(deps, async (asked) => {
    const page = await place(deps, asked);
    return isDoorFault(page) ? page : codec.createdAnswer(page.order, page.pageUrl);
  });

/** Answers what a panel asks about its orders. */
const answerApi = (deps: DoorDeps): RequestHandler =>
  answering(deps, async (asked) => {
    const act = asked.fields.get('act') ?? '';
    const access = codec.checkAccess(asked.fields, asked.door.key);
    if (access) return access;
    return (Object.hasOwn(acts, act) && (await acts[act]?.(deps, asked))) || UNKNOWN_ACT;
  });

type Act = (deps: DoorDeps, asked: Asked) => Promise<object | DoorFault>;

const acts: Readonly<Record<string, Act>> = {
  query: showAccount,
  order: showOrder,
  orders: listOrders,
  settle: async () => ({ code: 1, msg: 'success', data: [] }),
  refund,
};

async function showAccount({ database, clock }: DoorDeps, { door }: Asked): Promise<object> {
  const today = Math.floor(clock.nowMs() / DAY_MS) * DAY_MS;
  const count = (fromMs: number, beforeMs: number) => database.doors.countOrders(door.id, { fromMs, beforeMs });
  const [end, yesterday] = [today + DAY_MS, today - DAY_MS];
  return {
    code: 1,
    msg: 'success',
    pid: door.pid,
    key: '',
    active: 1,
    money: '0.00',
    type: 1,
    account: '',
    username: '',
    orders: await count(0, end),
    orders_today: await count(today, end),
    orders_lastday: await count(yesterday, today),
  };
}

async function showOrder(deps: DoorDeps, asked: Asked): Promise<object> {
  const order = await findOrder(deps, asked);
  return isDoorFault(order) ? order : shown(deps, asked, order);
}

async function listOrders(deps: DoorDeps, asked: Asked): Promise<object> {
  const number = (name: string, fallback: number) => {
    const text = asked.fields.get(name) ?? '';
    return /^\d{1,9}$/.test(text) ? Number(text) : fallback;
  };
  const status = asked.fields.get('status') ?? '';
  const limit = Math.min(number('limit', ORDERS_MAX), ORDERS_MAX);
  const isPaid = status === '' ? null : status === '1';
  const found = await deps.database.doors.orders(asked.door.id, { isPaid, limit, offset: number('offset', 0) });
  const data = found.map((order) => shown(deps, asked, order));
  return { code: 1, msg: 'success', count: data.length, data };
}

/** Refunds a part of a paid order, or all of it. A repeated request is the same refund. */
async function refund(deps: DoorDeps, asked: Asked): Promise<object> {
  const { door, fields } = asked;
  if (!door.settings.takesRefunds) return doorFault('act', 'refunds_off');
  const order = await findOrder(deps, asked);
  if (isDoorFault(order)) return order;
  const money = readMoney(fields.get('money') ?? '');
  const cents = (text: string) => BigInt(text.replace('.', ''));
  if (money === null || cents(money) > cents(order.terms.money)) return doorFault('money', 'malformed');
  const { paidSessionId: sessionId, paid } = order;
  if (sessionId === null || !paid?.payment) return doorFault('out_trade_no', 'unpaid');
  const refused = await deps.refundForDoor(door, {
    sessionId,
    currency: paid.payment.currency,
    refundId: `epay-${door.pid}-${order.orderNo}-${money}`,
    share: [cents(money), cents(order.terms.money)],
  });
  if (refused === null) return { code: 1, msg: 'success' };
  deps.log.warn({ door: door.pid, refusal: refused }, 'a refund of a door was refused');
  return doorFault('money', 'not_refunded');
}

/** Returns the order of a request by the panel's number or by ours. */
async function findOrder({ database }: DoorDeps, { door, fields }: Asked): Promise<ShownOrder | DoorFault> {
  const [tradeNo, orderNo] = [fields.get('trade_no') ?? '', fields.get('out_trade_no') ?? ''];
  const order = await database.doors.findOrder({
    endpointId: door.id,
    ...(tradeNo === '' ? { orderNo } : { tradeNo }),
  });
  return order ?? doorFault(tradeNo === '' ? 'out_trade_no' : 'trade_no', 'unknown_order');
}

function shown({ config }: DoorDeps, { door: { pid }, method }: Asked, order: ShownOrder): object {
  const sessionId = order.paidSessionId ?? order.sessionId;
  const pageUrl = sessionId === null ? '' : paymentUrl({ id: sessionId }, config);
  const at = { ...order, paidAtS: order.paid?.atS ?? null };
  return codec.orderAnswer(at, paidOrder(pid, order), { pid, method, pageUrl });
}

/** Sends the payer back to the panel: with success if the order is paid, otherwise with nothing. */
const sendBack =
  ({ database, config }: DoorDeps): RequestHandler =>
  async (request, response, next) => {
    const { pid, id } = request.params;
    const door = PID.test(String(pid)) ? await database.doors.find({ pid: Number(pid) }) : null;
    const order = door && (await database.doors.findOrder({ endpointId: door.id, id: String(id) }));
    if (!door || !order) return next();
    const { returnUrl } = order.terms;
    const paid = paidOrder(door.pid, order);
    const sessionId = order.paidSessionId ?? order.sessionId ?? '';
    response.set({ 'Cache-Control': 'no-store', 'Referrer-Policy': 'no-referrer' });
    if (returnUrl === null) response.redirect(302, `${paymentUrl({ id: sessionId }, config)}?stay=1`);
    else if (paid && door.dialect === 'epay') response.redirect(302, addQuery(returnUrl, codec.notice(paid, door.key)));
    else response.redirect(302, returnUrl);
  };

/** Reads a request, and finds its door. A prefix that is a number is the pid. */
async function readAsked({ database }: DoorDeps, request: Request): Promise<Asked | DoorFault> {
  const fields = await readRequest(request);
  if (isDoorFault(fields)) return fields;
  const pid = fields.get('pid') ?? '';
  if (pid === '') return doorFault('pid', 'missing');
  const { prefix = '' } = request.params;
  const isOther = PID.test(String(prefix)) && prefix !== pid;
  const door = PID.test(pid) && !isOther ? await database.doors.find({ pid: Number(pid) }) : null;
  return door?.dialect === 'epay' ? { door, fields, method: request.method } : doorFault('pid', 'unknown_door');
}

/** Reads the query and the form together: panels name the act in one and the rest in the other. */
async function readRequest(request: Request): Promise<Fields | DoorFault> {
  const [, query = ''] = /\?(.*)$/s.exec(request.url) ?? [];
  try {
    const form = request.method === 'POST' ? (await readBody(request, BODY_BYTES_MAX)).toString() : '';
    return readFields([query, form].filter((part) => part !== '').join('&'));
  } catch (error) {
    if (error instanceof BodyError && error.code !== 'aborted') return doorFault('request', 'too_large');
    throw error;
  }
}

async function place(deps: DoorDeps, { door, fields }: Asked) {
  const asked = codec.readOrder(fields, { key: door.key, currency: door.settings.currency });
  const placed = isDoorFault(asked) ? asked : await placeOrder(deps, door, asked);
  if (isDoorFault(placed)) return placed;
  return { order: placed.order, pageUrl: paymentUrl(placed.session, deps.config) };
}

/** The field's name and a code, because a value may be a key. */
function logFault({ log }: DoorDeps, { method }: Request, { field, code }: DoorFault): void {
  log.info({ method, field, code }, 'a request of a door was refused');
}
