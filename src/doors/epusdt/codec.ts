/**
 * The order APIs of Epusdt 0.x, of Epusdt 1 and 2 (GMPay) and of BEpusdt: requests, answers, notices and their
 * acknowledgement. Facts about their clients are in `test/doors/epusdt-clients.ts`.
 */
import type { DoorAlgorithm, DoorDialect, DoorMethod, DoorSpelling, DoorTerms } from '../../core/door.ts';
import { ExactNumber, parseExactly } from '../../core/exact-json.ts';
import { isFields } from '../../core/fields.ts';
import { formatUnits } from '../../core/money.ts';
import type { Currency } from '../../core/transfer.ts';
import { type DoorFault, doorFault, faultText, isDoorFault } from '../faults.ts';
import { type Fields, REQUEST_UNITS_MAX, readFields, sign, takeField, verify, without } from '../signed.ts';
import type { PaidOrder } from '../success.ts';
import { methodOf, methodOfPair, readCommon, shortest, wordOf } from '../words.ts';
import { spelled, spellings } from './numbers.ts';

export type EpusdtDialect = Exclude<DoorDialect, 'epay'>;

/** A request's parameters; a number of JSON by its text. */
export type Body = Readonly<{ fields: Fields; numbers: ReadonlySet<string> }>;

type EpusdtDoor = Readonly<{ key: string; currency: string; algorithm: DoorAlgorithm | 'dual' }>;

/** Epusdt 0.x and BEpusdt pay by this unless another is named. */
const METHOD_DEFAULT = 'usdt.trc20';
/** The status of a notice in all dialects. */
const PAID = 2;
const names = { orderNo: 'order_id', money: 'amount', notifyUrl: 'notify_url', returnUrl: 'redirect_url' };

/** Reads the body of a request, a form or JSON. */
export function readBody(text: string, isJson: boolean): Body | DoorFault {
  if (!isJson) {
    const fields = readFields(text);
    return isDoorFault(fields) ? fields : { fields, numbers: new Set() };
  }
  if (text.length > REQUEST_UNITS_MAX) return doorFault('request', 'too_large');
  let body: unknown;
  try {
    body = parseExactly(text);
  } catch {
    return doorFault('request', 'malformed');
  }
  if (!isFields(body)) return doorFault('request', 'malformed');
  const fields = new Map<string, string>();
  const numbers = new Set<string>();
  for (const [name, value] of Object.entries(body)) {
    if (value === null) continue;
    const isNumber = typeof value === 'number' || value instanceof ExactNumber;
    if (isNumber) numbers.add(name);
    const written = value instanceof ExactNumber ? value.text : isNumber ? String(value) : value;
    const fault = takeField(fields, name, typeof written === 'string' ? written : null);
    if (fault) return fault;
  }
  return { fields, numbers };
}

/**
 * Reads the request for an order.
 * @param isChoice the payer picks, as by BEpusdt's `create-order`
 */
export function readOrder(
  dialect: EpusdtDialect,
  body: Body,
  door: EpusdtDoor,
  isChoice: boolean,
): Readonly<{ orderNo: string; terms: DoorTerms }> | DoorFault {
  const text = (name: string): string => body.fields.get(name) ?? '';
  const signed = checkSignature(body, door);
  if (isDoorFault(signed)) return signed;
  const common = readCommon(text, names);
  if (isDoorFault(common)) return common;
  const [currencyField, type] =
    dialect === 'gmpay'
      ? ['currency', [text('token'), text('network')].filter((word) => word !== '').join('.')]
      : ['fiat', text('trade_type') || (isChoice ? '' : METHOD_DEFAULT)];
  const currency = text(currencyField).toUpperCase();
  if (currency !== '' && currency !== door.currency) return doorFault(currencyField, 'currency');
  const method = dialect === 'gmpay' ? readPair(text('token'), text('network')) : methodOf(type);
  if (method === 'unknown' || (method === null && type !== '')) {
    return doorFault(dialect === 'gmpay' ? 'token' : 'trade_type', 'method_off');
  }
  const { orderNo, terms } = common;
  return { orderNo, terms: { ...terms, param: null, type, method, ...signed } };
}

/** Reads a coin and its network, both or none. */
function readPair(coin: string, network: string): DoorMethod | null | 'unknown' {
  return coin === '' && network === '' ? null : methodOfPair(coin, network);
}

/** Checks the signature in each way in which languages write the numbers. */
export function checkSignature(
  { fields, numbers }: Body,
  { key, algorithm }: EpusdtDoor,
): Readonly<{ algorithm: DoorAlgorithm; spelling: DoorSpelling }> | DoorFault {
  const signature = fields.get('signature') ?? '';
  if (signature === '') return doorFault('signature', 'missing');
  const algorithms = algorithm === 'dual' ? (['hmac_sha256', 'md5'] as const) : [algorithm];
  const received = without(fields, ['signature']);
  // Old versions of PHP take 0 for empty.
  const zeros = [...numbers].filter((name) => Number(fields.get(name)) === 0);
  const amount = received.get('amount');
  const spelledAmounts =
    amount !== undefined && numbers.has('amount')
      ? spellings(amount)
      : [{ text: amount ?? '', spelling: 'shortest' as const }];
  for (const { text, spelling } of spelledAmounts) {
    const written = amount === undefined ? received : new Map(received).set('amount', text);
    for (const candidate of [written, without(written, zeros)]) {
      const right = verify(candidate, signature, key, algorithms);
      if (right) return { algorithm: right, spelling };
    }
  }
  return doorFault('signature', 'signature');
}

/** An order with what its payer is asked for; `offer` null: the payer has not picked. */
export type OpenOrder = Readonly<{
  orderNo: string;
  tradeNo: string;
  terms: DoorTerms;
  currency: string;
  state: OrderState;
  offer: Readonly<{ address: string; network: string; coin: Currency; units: bigint; decimals: number }> | null;
  createdAtMs: number;
  expiresAtMs: number;
  pageUrl: string;
}>;

export type OrderState = 'waiting' | 'paid' | 'expired' | 'canceled' | 'failed';

const amountOf = ({ units, decimals }: Readonly<{ units: bigint; decimals: number }>): string =>
  formatUnits(units, decimals);

/** Returns a dialect's number for the state of an order. */
function statusOf(dialect: EpusdtDialect, { state, offer }: Pick<OpenOrder, 'state' | 'offer'>): number {
  const isBepusdt = dialect === 'bepusdt';
  if (state === 'waiting') return dialect === 'gmpay' && !offer ? 4 : 1;
  if (state === 'paid') return PAID;
  if (state === 'expired' || !isBepusdt) return 3;
  return state === 'canceled' ? 4 : 6;
}

const answer = (data: object) => ({ status_code: 200, message: 'success', data, request_id: '' });

/** Returns the answer to the request for an order. */
export function createdAnswer(dialect: EpusdtDialect, order: OpenOrder, nowMs: number) {
  const { offer } = order;
  const expiresAtS = Math.floor(order.expiresAtMs / 1000);
  const own = { trade_id: order.tradeNo, order_id: order.orderNo, payment_url: order.pageUrl };
  if (dialect === 'bepusdt') {
    return answer({
      ...own,
      amount: shortest(order.terms.money),
      fiat: order.currency,
      ...(offer && { actual_amount: amountOf(offer), token: offer.address }),
      expiration_time: Math.max(0, expiresAtS - Math.floor(nowMs / 1000)),
      status: statusOf(dialect, order),
    });
  }
  const numbers = { amount: Number(order.terms.money), actual_amount: offer ? Number(amountOf(offer)) : 0 };
  if (dialect === 'epusdt') {
    return answer({ ...own, ...numbers, token: offer?.address ?? '', expiration_time: expiresAtS });
  }
  return answer({
    ...own,
    ...numbers,
    currency: order.currency,
    receive_address: offer?.address ?? '',
    token: offer?.coin ?? '',
    status: statusOf(dialect, order),
    expiration_time: expiresAtS,
  });
}

/** Returns the answer to a look-up. PyPI's bepusdt reads the upper level, all others read `data`. */
export function statusAnswer(dialect: EpusdtDialect, order: OpenOrder) {
  const shown = { trade_id: order.tradeNo, status: statusOf(dialect, order) };
  return { ...answer(shown), ...shown };
}

/** Returns the answer to the choice of a network, and what the payment page would show. */
export function checkoutAnswer(dialect: EpusdtDialect, order: OpenOrder) {
  const { offer } = order;
  return answer({
    trade_id: order.tradeNo,
    amount: Number(order.terms.money),
    actual_amount: offer ? Number(amountOf(offer)) : 0,
    token: offer?.coin ?? '',
    currency: order.currency,
    receive_address: offer?.address ?? '',
    network: offer ? wordOf(offer.network) : '',
    status: statusOf(dialect, order),
    payment_type: 'gmpay',
    expiration_time: order.expiresAtMs,
    redirect_url: order.terms.returnUrl ?? '',
    payment_url: order.pageUrl,
    created_at: order.createdAtMs,
    is_selected: offer !== null,
  });
}

/** Returns the answer to a cancellation. */
export const canceledAnswer = (tradeNo: string) => answer({ trade_id: tradeNo });

/** Returns the answer that lists the networks and their coins. */
export const configAnswer = (
  networks: readonly Readonly<{ name: string; title: string; coins: readonly Currency[] }>[],
) =>
  answer({
    supported_assets: networks.map(({ name, title, coins }) => ({
      network: wordOf(name),
      display_name: title,
      tokens: coins,
    })),
    site: {},
    epay: {},
    okpay: { enabled: false, allow_tokens: [] },
    version: '',
  });

/** Returns the JSON of a notice. */
export function notice(dialect: EpusdtDialect, paid: PaidOrder, key: string): string {
  const { terms, payment } = paid;
  const actual = payment ? amountOf(payment) : shortest(terms.money);
  const address = payment?.address ?? '';
  const texts: Record<string, string> = {
    ...(dialect === 'gmpay' && { pid: String(paid.pid), receive_address: address }),
    trade_id: paid.tradeNo,
    order_id: paid.orderNo,
    token: dialect === 'gmpay' ? (payment?.currency ?? '') : address,
    block_transaction_id: payment?.tx ?? '',
    ...(dialect === 'bepusdt' && { actual_amount: actual }),
  };
  const numbers: Record<string, string> = {
    amount: shortest(terms.money),
    ...(dialect !== 'bepusdt' && { actual_amount: actual }),
    status: String(PAID),
  };
  const signedNumbers = Object.entries(numbers).map(([name, text]) => [name, spelled(text, terms.spelling)] as const);
  const signature = sign(new Map([...Object.entries(texts), ...signedNumbers]), key, terms.algorithm);
  const values = Object.fromEntries(Object.entries(numbers).map(([name, text]) => [name, Number(text)]));
  return JSON.stringify({ ...texts, ...values, signature });
}

/** Returns whether a shop's answer to a notice acknowledges it. */
export const isAccepted = (status: number, body: string): boolean =>
  status === 200 && /^(ok|success)$/i.test(body.replaceAll('\ufeff', '').trim());

/** The codes of Epusdt, by which its clients tell faults apart. */
const faultCodes: Readonly<Partial<Record<DoorFault['code'], number>>> = {
  signature: 401,
  unknown_door: 401,
  changed: 10002,
  unknown_order: 10008,
  method_off: 10016,
};

/**
 * Returns the answer to a request that is refused.
 * @param isGmpay its clients read the HTTP status; those of the older paths read only the body of a 200
 */
export function faultAnswer(fault: DoorFault, isGmpay: boolean) {
  const fieldCode = fault.field === 'amount' ? 10004 : fault.field === 'notify_url' ? 10041 : 10009;
  const code = faultCodes[fault.code] ?? (isGmpay ? fieldCode : 400);
  return {
    status: isGmpay ? (code === 401 ? 401 : 400) : 200,
    body: { status_code: code, message: faultText(fault), data: null, request_id: '' },
  };
}
