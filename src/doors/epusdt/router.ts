/**
 * The routes of Epusdt 0.x, GMPay and BEpusdt, on the root and under a door's number. Requests of the older two name no
 * merchant, so at the root each of their keys is tried.
 */
import type { Request, RequestHandler, Router } from 'express';
import type { Door, ShownOrder } from '../../database/doors.ts';
import { readBody as readBytes } from '../../lib/request-body.ts';
import { optionAddress, optionName } from '../../payments/option.ts';
import { paymentUrl } from '../../payments/payment-url.ts';
import { type DoorFault, doorFault, isDoorFault } from '../faults.ts';
import { type DoorDeps, type Placed, placeOrder } from '../orders.ts';
import { methodOfPair } from '../words.ts';
import * as codec from './codec.ts';

const BODY_BYTES_MAX = 65_536;

type OpenDoor = Door & Readonly<{ dialect: codec.EpusdtDialect }>;
type Method = NonNullable<ShownOrder['terms']['method']>;

/** Serves the routes. An installation without doors passes on those that need none. */
export function serveEpusdt(router: Router, deps: DoorDeps): void {
  for (const prefix of ['', '/:pid']) {
    const orders = `${prefix}/api/v1/order`;
    router.post(`${orders}/create-transaction`, create(deps, ['epusdt', 'bepusdt'], false));
    router.post(`${orders}/create-order`, create(deps, ['bepusdt'], true));
    router.post(`${orders}/cancel-transaction`, cancel(deps));
    router.post(`${prefix}/payments/gmpay/v1/order/create-transaction`, create(deps, ['gmpay'], false));
    router.get(`${prefix}/payments/gmpay/v1/config`, showConfig(deps));
    router.post(`${prefix}/pay/switch-network`, switchNetwork(deps));
    router.get(`${prefix}/pay/check-status/:id`, lookUp(deps, codec.statusAnswer));
    router.get(`${prefix}/pay/checkout-counter-resp/:id`, lookUp(deps, codec.checkoutAnswer));
    for (const page of ['checkout-counter', 'checkout']) router.get(`${prefix}/pay/${page}/:id`, openPage(deps));
  }
}

/** Answers with what `work` returns, and logs the field that is wrong, never a value. */
const answering =
  ({ log }: DoorDeps, isGmpay: boolean, work: (request: Request) => Promise<object | DoorFault>): RequestHandler =>
  async (request, response) => {
    const answer = await work(request);
    if (!isDoorFault(answer)) {
      response.json(answer);
      return;
    }
    log.info({ field: answer.field, code: answer.code }, 'a request of a door was refused');
    const { status, body } = codec.faultAnswer(answer, isGmpay);
    response.status(status).json(body);
  };

/** Creates an order, or answers with the one that the panel made before. */
const create = (deps: DoorDeps, dialects: readonly codec.EpusdtDialect[], isChoice: boolean): RequestHandler =>
  answering(deps, dialects.includes('gmpay'), async (request) => {
    const signed = await readSigned(deps, request, dialects);
    if (isDoorFault(signed)) return signed;
    const { door, body } = signed;
    const asked = codec.readOrder(door.dialect, body, { ...door.settings, key: door.key }, isChoice);
    const placed = isDoorFault(asked) ? asked : await placeOrder(deps, door, asked);
    if (isDoorFault(placed)) return placed;
    return codec.createdAnswer(door.dialect, shown(deps, { door, ...placed }), deps.clock.nowMs());
  });

/** Cancels an order for which no money was seen. */
const cancel = (deps: DoorDeps): RequestHandler =>
  answering(deps, false, async (request) => {
    const signed = await readSigned(deps, request, ['epusdt', 'bepusdt']);
    if (isDoorFault(signed)) return signed;
    const { id: doorId, storeId, mode } = signed.door;
    const tradeNo = signed.body.fields.get('trade_id') ?? '';
    const order = await deps.database.doors.findOrder({ endpointId: doorId, tradeNo });
    if (!order?.sessionId) return doorFault('trade_id', 'unknown_order');
    const replay = { idempotencyKey: null, path: '', bodyHash: '' };
    const owned = { id: order.sessionId, storeId, mode, replay };
    const outcome = await deps.database.sessions.cancel({ ...owned, nowMs: deps.clock.nowMs() });
    const isCanceled = 'session' in outcome && outcome.session.life.status === 'canceled';
    return isCanceled ? codec.canceledAnswer(tradeNo) : doorFault('trade_id', 'is_paid');
  });

/** Answers with the address of a network that the payer or the panel picked. The order's session offers all along. */
const switchNetwork = (deps: DoorDeps): RequestHandler =>
  answering(deps, true, async (request) => {
    const body = await received(request);
    if (isDoorFault(body)) return body;
    const text = (name: string): string => body.fields.get(name) ?? '';
    const method = methodOfPair(text('token'), text('network'));
    const found = method === 'unknown' ? null : await findOrder(deps, text('trade_id'));
    if (method === 'unknown' || !found) return doorFault('network', 'method_off');
    if (isDoorFault(found)) return found;
    const order = shown(deps, found, method);
    return order.offer ? codec.checkoutAnswer(found.door.dialect, order) : doorFault('network', 'method_off');
  });

/** Answers about an order by its unguessable number. Nothing else authorizes these requests. */
const lookUp = (
  deps: DoorDeps,
  answer: (dialect: codec.EpusdtDialect, order: codec.OpenOrder) => object,
): RequestHandler =>
  answering(deps, true, async (request) => {
    const found = await findOrder(deps, String(request.params.id));
    return isDoorFault(found) ? found : answer(found.door.dialect, shown(deps, found));
  });

/** Sends a payer to the payment page. */
const openPage =
  (deps: DoorDeps): RequestHandler =>
  async (request, response, next) => {
    const found = await findOrder(deps, String(request.params.id));
    if (isDoorFault(found)) return next();
    response.redirect(302, shown(deps, found).pageUrl);
  };

/** Lists what can be paid with at the GMPay doors. */
const showConfig =
  (deps: DoorDeps): RequestHandler =>
  async (_request, response, next) => {
    const modes = new Set((await deps.database.doors.ofDialect('gmpay')).map(({ mode }) => mode));
    if (modes.size === 0) return next();
    const networks = deps.config.networks
      .filter(({ mode }) => modes.has(mode))
      .map(({ name, title, tokens }) => ({ name, title, coins: tokens.map(({ symbol }) => symbol) }));
    response.json(codec.configAnswer(networks));
  };

async function received(request: Request): Promise<codec.Body | DoorFault> {
  const text = (await readBytes(request, BODY_BYTES_MAX)).toString();
  return codec.readBody(text, text.trimStart().startsWith('{'));
}

/** Finds the door whose key signed a request: by its number, or else by trying each key of the dialects. */
async function readSigned(
  { database: { doors } }: DoorDeps,
  request: Request,
  dialects: readonly codec.EpusdtDialect[],
): Promise<Readonly<{ door: OpenDoor; body: codec.Body }> | DoorFault> {
  const body = await received(request);
  if (isDoorFault(body)) return body;
  const pid = request.params.pid ?? (dialects.includes('gmpay') ? (body.fields.get('pid') ?? '') : null);
  const byPid = pid !== null && /^[0-9]{1,10}$/.test(String(pid)) ? await doors.find({ pid: Number(pid) }) : null;
  const open: Door[] = byPid ? [byPid] : [];
  if (pid === null) for (const dialect of dialects) open.push(...(await doors.ofDialect(dialect)));
  const own = open.filter((door): door is OpenDoor => dialects.some((dialect) => dialect === door.dialect));
  const faultOf = (door: OpenDoor): DoorFault | null => {
    const signed = codec.checkSignature(body, { ...door.settings, key: door.key });
    return isDoorFault(signed) ? signed : null;
  };
  const door = own.find((one) => faultOf(one) === null);
  if (door) return { door, body };
  return (own[0] && faultOf(own[0])) ?? doorFault('pid', 'unknown_door');
}

type Found = Placed & Readonly<{ door: OpenDoor }>;

async function findOrder({ database }: DoorDeps, tradeNo: string): Promise<Found | DoorFault> {
  const order = await database.doors.findOrder({ tradeNo });
  const door = order && (await database.doors.find({ id: order.endpointId }));
  const sessionId = order?.paidSessionId ?? order?.sessionId;
  const session = sessionId ? await database.sessions.find(sessionId) : null;
  const { dialect } = door ?? {};
  if (!door || !session || dialect === undefined || dialect === 'epay') return doorFault('trade_id', 'unknown_order');
  return { order, session, door: { ...door, dialect } };
}

/** Shows an order with what its payer is asked for, in the way that the panel fixed, or that is asked about now. */
function shown({ config }: DoorDeps, { door, order, session }: Found, asked: Method | null = null): codec.OpenOrder {
  const method = asked ?? order.terms.method;
  const option = session.options.find(
    ({ network, currency }) => network === method?.network && currency === method.coin,
  );
  const { status } = session.life;
  return {
    ...order,
    currency: door.settings.currency,
    // Another session of an order may be paid than the one that its notice is about.
    state: order.paidSessionId ? 'paid' : status === 'pending' || status === 'paid' ? 'waiting' : status,
    offer: option ? { ...option, coin: option.currency, address: optionAddress(session, option) } : null,
    expiresAtMs: session.terms.expiresAtS * 1000,
    pageUrl: `${paymentUrl(session, config)}${option ? `?pay=${optionName(option)}` : ''}`,
  };
}
