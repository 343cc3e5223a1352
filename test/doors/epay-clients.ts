/**
 * The clients of EPay that panels and shops use, as their own code behaves: the request that each sends, how it checks
 * a notice, and how it acknowledges one. A client's behaviour was read in its source and tried with its own code.
 */
import { createHash } from 'node:crypto';

/** Which of the fields are signed. `all`: empty ones too. `plain`: without backslashes. */
type Reading = 'filled' | 'all' | 'all plain' | 'filled plain';

export type EpayClient = Readonly<{
  name: string;
  /** In the order in which it sends them, without the signature. */
  sends: Readonly<Record<string, string>>;
  signs: Reading;
  /** The fields of a notice that it signs again; absent: all that it received. */
  recomputes?: readonly string[];
  /** How it writes the text when it checks a notice, if not as it signs. */
  checks?: Reading;
  /** The fields of a notice that it compares with its own order. */
  compares: readonly ('money' | 'pid' | 'trade_status')[];
  /** Its answer to a right notice and to a wrong one. */
  answers: readonly [right: string, wrong: string];
  /** Of the answer of `mapi.php`, the fields that it reads, the first that is there. */
  opens?: readonly string[];
}>;

const NOTIFY = 'https://panel.example/notify';
const RETURN = 'https://panel.example/return';
const SEVEN = ['pid', 'trade_no', 'out_trade_no', 'type', 'name', 'money', 'trade_status'];

/** The browser's own fields of a shop that asks by `submit.php`. */
const shop = (money: string, rest: Readonly<Record<string, string>> = {}): Readonly<Record<string, string>> => ({
  pid: '1001',
  type: 'alipay',
  out_trade_no: '2026112814000012345678',
  notify_url: NOTIFY,
  return_url: RETURN,
  name: 'Gold',
  money,
  ...rest,
});
const panel = (money: string, rest: Readonly<Record<string, string>> = {}) =>
  shop(money, { clientip: '203.0.113.7', ...rest });
/** V2Board and its relatives send no type, and a return page with a fragment. */
const v2board = {
  money: '9.9',
  name: '2026112814000012345678',
  notify_url: 'https://v2.example/api/v1/guest/payment/notify/EPay/AbC123',
  return_url: 'https://v2.example/#/order/2026112814000012345678',
  out_trade_no: '2026112814000012345678',
  pid: '1001',
};

export const epayClients: readonly EpayClient[] = [
  {
    name: 'new-api by go-epay',
    sends: shop('73.00', { type: 'usdt.trc20', out_trade_no: 'USR7NO1a2B3c1764300000', name: 'TUC10', device: 'pc' }),
    signs: 'filled',
    compares: ['trade_status'],
    answers: ['success', 'fail'],
  },
  {
    name: 'sub2api easypay, with its channel and a coin without a dot',
    sends: panel('9.9', { type: 'usdt_trc20', device: 'mobile', cid: '12' }),
    signs: 'filled',
    compares: ['money', 'pid', 'trade_status'],
    answers: ['success', '{"error":"verify"}'],
    opens: ['payurl2', 'payurl', 'qrcode'],
  },
  {
    name: 'V2Board',
    sends: v2board,
    signs: 'all plain',
    compares: [],
    answers: ['success', 'fail'],
  },
  {
    name: 'wyx2685/v2board EPay',
    sends: { ...v2board, money: '10' },
    signs: 'all plain',
    compares: ['trade_status'],
    answers: ['success', '{"message":"Server Error"}'],
  },
  {
    name: 'wyx2685/v2board EPayQrcode',
    sends: panel('10.00', { device: 'pc' }),
    signs: 'filled',
    compares: ['pid', 'trade_status'],
    answers: ['success', 'fail'],
    opens: ['qrcode', 'urlscheme', 'payurl'],
  },
  {
    name: 'Xboard Epay',
    sends: { ...v2board, type: 'wxpay' },
    signs: 'all plain',
    compares: [],
    answers: ['success', 'fail'],
  },
  {
    name: 'dujiaoka Yipay',
    sends: shop('100.5', { return_url: `${RETURN}?order_id=7` }),
    signs: 'filled',
    compares: ['money'],
    answers: ['success', 'fail'],
  },
  {
    name: 'dujiao-next epay v1',
    sends: panel('10', { device: 'pc' }),
    signs: 'filled',
    compares: ['money', 'pid', 'trade_status'],
    answers: ['success', 'fail'],
    opens: ['payurl', 'qrcode', 'urlscheme'],
  },
  {
    name: 'acg-faka, which signs its empty site name',
    sends: shop('5', { sitename: '' }),
    signs: 'all',
    compares: ['money', 'trade_status'],
    answers: ['success', 'error'],
  },
  {
    name: 'SSPanel-UIM, with a backslash in its name and no page to return to',
    sends: panel('0.05', { type: 'epusdt', sitename: 'My\\Panel', return_url: '' }),
    signs: 'all plain',
    checks: 'filled plain',
    compares: ['trade_status'],
    answers: ['success', 'failed'],
    opens: ['payurl'],
  },
  {
    name: 'SSPanel-UIM before April 2024',
    sends: shop('1000000', { sitename: 'My\\Panel' }),
    signs: 'filled plain',
    compares: ['trade_status'],
    answers: ['{"state":"success","msg":"Payment success"}', '{"state":"fail","msg":"Payment failed"}'],
  },
  {
    name: 'NeXT-Panel',
    sends: panel('123456.78', { sitename: 'NeXT', return_url: '' }),
    signs: 'all plain',
    checks: 'filled plain',
    compares: ['trade_status'],
    answers: ['{"state":"success","msg":"Payment success"}', '{"state":"fail","msg":"Payment failed"}'],
    opens: ['payurl'],
  },
  {
    name: 'card-gateway EPay, which signs exactly seven fields again',
    sends: shop('10.00'),
    signs: 'filled',
    recomputes: SEVEN,
    compares: [],
    answers: ['success', 'error sign'],
  },
  {
    name: 'orion-key, with a UUID as its number',
    sends: panel('10.00', { out_trade_no: '0b0e2d0c-6d0f-4c36-9f3c-0d6f6a3c3a11', device: 'pc' }),
    signs: 'filled',
    compares: ['money', 'trade_status'],
    answers: ['SUCCESS', 'FAIL'],
    opens: ['payurl', 'qrcode'],
  },
];

/** Signs as a client does. */
export function signedBy(fields: Iterable<readonly [string, string]>, reading: Reading, key: string): string {
  const kept = [...fields].filter(
    ([name, value]) => !/^sign(_type)?$/.test(name) && (/all/.test(reading) || value !== ''),
  );
  const text = kept
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map((pair) => pair.join('='))
    .join('&');
  const written = /plain/.test(reading) ? text.replaceAll('\\', '') : text;
  return createHash('md5').update(`${written}${key}`).digest('hex');
}

/** Returns a client's answer to a notice. */
export function answerOf(client: EpayClient, notice: URLSearchParams, key: string): string {
  const [right, wrong] = client.answers;
  const received = [...notice].filter(([name]) => !client.recomputes || client.recomputes.includes(name));
  const expected = { money: Number(client.sends.money), pid: client.sends.pid, trade_status: 'TRADE_SUCCESS' };
  const isSigned = notice.get('sign') === signedBy(received, client.checks ?? client.signs, key);
  const isMine = client.compares.every((name) =>
    name === 'money' ? Number(notice.get(name)) === expected.money : notice.get(name) === expected[name],
  );
  return isSigned && isMine && notice.get('sign_type') === 'MD5' ? right : wrong;
}
