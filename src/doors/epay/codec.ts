/**
 * The EPay protocol, version 1: requests, answers, notices and their acknowledgement. Facts about its clients are in
 * `test/doors/epay-clients.ts`.
 */
import { sameHex } from '../../core/delivery.ts';
import type { DoorTerms } from '../../core/door.ts';
import type { OrderRow } from '../../database/doors.ts';
import { type DoorFault, doorFault, faultText, isDoorFault } from '../faults.ts';
import { type Fields, findRecut, sign, verify, without } from '../signed.ts';
import type { PaidOrder } from '../success.ts';
import { isParam, methodOf, readCommon } from '../words.ts';

const SIGNATURE_FIELDS = ['sign', 'sign_type'];
/** Fields that a reader counts money or orders by. Real URLs carry `&type=`, so that one is no sign of an attack. */
const GUARDED = ['money', 'out_trade_no', 'pid', 'trade_no', 'trade_status'];
/** Nobody is left without a type: some clients read it unchecked. */
const TYPE_DEFAULT = 'usdt';
/** The original server shows China's time. */
const UTC_OFFSET_MS = 8 * 3_600_000;
const PAID = 'TRADE_SUCCESS';
const names = { orderNo: 'out_trade_no', money: 'money', notifyUrl: 'notify_url', returnUrl: 'return_url' };

type EpayDoor = Readonly<{ key: string; currency: string }>;

/** An order as it is shown to the panel. */
type ShownOrder = Pick<OrderRow, 'orderNo' | 'tradeNo' | 'terms' | 'createdAtMs'> &
  Readonly<{ paidAtS: number | null }>;

/** Reads the request of `submit.php` or `mapi.php`. */
export function readOrder(fields: Fields, door: EpayDoor): Readonly<{ orderNo: string; terms: DoorTerms }> | DoorFault {
  const text = (name: string): string => fields.get(name) ?? '';
  const signatureFault = checkSignature(fields, door.key) ?? findRecut(fields, GUARDED);
  if (signatureFault) return signatureFault;
  const given = text('currency') || text('fiat');
  if (given !== '' && given.toUpperCase() !== door.currency) return doorFault('currency', 'currency');
  const common = readCommon(text, names);
  if (isDoorFault(common)) return common;
  const method = methodOf(text('type'));
  if (!/^[\w.-]{0,32}$/.test(text('type'))) return doorFault('type', 'malformed');
  if (method === 'unknown') return doorFault('type', 'method_off');
  if (!isParam(text('param'))) return doorFault('param', 'malformed');
  const echoed = { param: text('param') || null, type: text('type') || TYPE_DEFAULT };
  const { orderNo, terms } = common;
  return { orderNo, terms: { ...terms, ...echoed, method, spelling: 'shortest', algorithm: 'md5' } };
}

/** Checks the signature over all fields that came: panels sign some of their own too. */
function checkSignature(fields: Fields, key: string): DoorFault | null {
  if (!/^(md5)?$/i.test(fields.get('sign_type') ?? '')) return doorFault('sign_type', 'malformed');
  const signature = fields.get('sign') ?? '';
  if (signature === '') return doorFault('sign', 'missing');
  return verify(without(fields, SIGNATURE_FIELDS), signature, key, ['md5']) ? null : doorFault('sign', 'signature');
}

/** Checks a request of `api.php`: it has the key itself, or a signature over its other fields. */
export function checkAccess(fields: Fields, key: string): DoorFault | null {
  const given = fields.get('key') ?? '';
  if (given === '') return checkSignature(fields, key);
  const hex = (text: string): string => Buffer.from(text).toString('hex');
  return sameHex(hex(given), hex(key)) ? null : doorFault('key', 'signature');
}

/**
 * Returns the parameters of a notice and of the payer's return. No other field and no empty one: clients that check a
 * fixed list fail at an eighth, and others at an empty one.
 */
export function notice({ pid, tradeNo, orderNo, terms }: PaidOrder, key: string): Fields {
  const fields = new Map([
    ['pid', String(pid)],
    ['trade_no', tradeNo],
    ['out_trade_no', orderNo],
    ['type', terms.type],
    ['name', terms.name],
    ['money', terms.money],
    ['trade_status', PAID],
    ...(terms.param === null ? [] : [['param', terms.param] as const]),
  ]);
  return fields.set('sign', sign(fields, key, 'md5')).set('sign_type', 'MD5');
}

/** Returns whether a panel's answer to a notice acknowledges it. An error page that only contains the word does not. */
export function isAccepted(status: number, body: string): boolean {
  const text = body.replaceAll('\ufeff', '').trim();
  return status === 200 && (/^(success|ok)(?![a-z0-9])/i.test(text) || isAcceptedJson(text));
}

/** Old SSPanel and NeXT-Panel answer `{"state":"success"}`. */
function isAcceptedJson(text: string): boolean {
  if (!text.startsWith('{')) return false;
  try {
    const answer = JSON.parse(text) as Readonly<Record<string, unknown>>;
    return [answer.state, answer.status, answer.code, answer.msg].some((word) => /^(success|ok)$/i.test(String(word)));
  } catch {
    return false;
  }
}

/** Returns the answer of `mapi.php`. A payer's phone opens the page, and a desktop shows it as a QR code. */
export const createdAnswer = ({ tradeNo }: Pick<ShownOrder, 'tradeNo'>, pageUrl: string) => ({
  code: 1,
  msg: 'success',
  trade_no: tradeNo,
  payurl: pageUrl,
  payurl2: pageUrl,
  qrcode: pageUrl,
});

/**
 * Returns an order as `api.php` shows it.
 * @param paid the same order if it is paid
 * @param method card-gateway asks by GET and needs the status as a string; sub2api asks by POST and needs a number
 */
export function orderAnswer(
  order: ShownOrder,
  paid: PaidOrder | null,
  { pid, method, pageUrl }: Readonly<{ pid: number; method: string; pageUrl: string }>,
) {
  const status = paid ? 1 : 0;
  return {
    code: 1,
    msg: 'success',
    trade_no: order.tradeNo,
    out_trade_no: order.orderNo,
    api_trade_no: paid?.payment?.tx ?? '',
    bill_trade_no: '',
    type: order.terms.type,
    pid,
    addtime: chinaTime(order.createdAtMs),
    endtime: order.paidAtS === null ? '' : chinaTime(order.paidAtS * 1000),
    name: order.terms.name,
    money: order.terms.money,
    param: order.terms.param ?? '',
    buyer: '',
    status: method === 'POST' ? status : String(status),
    trade_status: paid ? PAID : 'WAIT_BUYER_PAY',
    payurl: pageUrl,
  };
}

const chinaTime = (atMs: number): string => new Date(atMs + UTC_OFFSET_MS).toISOString().slice(0, 19).replace('T', ' ');

/** Returns the answer of `mapi.php` and `api.php` to a request that is refused. */
export function faultAnswer(fault: DoorFault): Readonly<{ code: number; msg: string }> {
  const code = fault.code === 'signature' ? -3 : fault.field === 'pid' ? -4 : -1;
  return { code, msg: faultText(fault) };
}
