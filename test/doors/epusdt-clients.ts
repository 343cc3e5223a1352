/**
 * The clients of Epusdt, GMPay and BEpusdt, as their own code behaves: the request that each sends, the text that it
 * signs, how it checks a notice, and how it acknowledges one.
 */
import { createHash, createHmac } from 'node:crypto';
import type { EpusdtDialect } from '../../src/doors/epusdt/codec.ts';

export type EpusdtClient = Readonly<{
  name: string;
  dialect: EpusdtDialect;
  /** The body as it sends it, without the signature. A form if it is no JSON. */
  sends: string;
  /** The text before the key. Its numbers are as the client's language writes them. */
  signs: string;
  algorithm?: 'hmac_sha256';
  /** The request asks for an order whose way to pay the payer picks. */
  isChoice?: true;
  /** How it writes a notice's numbers, if not in the shortest way. */
  writes?: (value: number) => string;
  /** The fields of a notice that it signs again; absent: all that it received. */
  recomputes?: readonly string[];
  compares: readonly ('amount' | 'pid' | 'status')[];
  /** Its answer to a right notice and to a wrong one. */
  answers: readonly [right: string, wrong: string];
}>;

const N = 'https://panel.example/notify';
const R = 'https://panel.example/return';
const SEVEN = ['trade_id', 'order_id', 'amount', 'actual_amount', 'token', 'block_transaction_id', 'status'];

/** Go's `%v` of a double that is neither tiny nor huge. */
const asGo = (value: number): string => {
  const [digits = '', exponent = ''] = value.toExponential().split('e+');
  return Number(exponent) < 6 ? String(value) : `${digits}e+${exponent.padStart(2, '0')}`;
};
const asTwelve = (value: number): string => value.toFixed(12).replace(/\.?0+$/, '');

export const epusdtClients: readonly EpusdtClient[] = [
  {
    name: 'sub2api epusdt, a form with text amounts',
    dialect: 'gmpay',
    sends: new URLSearchParams({
      pid: '1002',
      order_id: 'sub2_77',
      currency: 'cny',
      token: 'usdt',
      network: 'tron',
      amount: '10.00',
      notify_url: N,
      redirect_url: R,
      name: 'Balance',
    }).toString(),
    signs: `amount=10.00&currency=cny&name=Balance&network=tron&notify_url=${N}&order_id=sub2_77&pid=1002&redirect_url=${R}&token=usdt`,
    compares: ['amount', 'pid', 'status'],
    answers: ['ok', 'fail'],
  },
  {
    name: 'wyx2685/v2board Epusdt, with twelve decimals',
    dialect: 'gmpay',
    sends: `{"pid":"1002","order_id":"2026112814000012345678","currency":"cny","token":"usdt","network":"tron","amount":123456.78,"notify_url":"${N}","redirect_url":"${R}"}`,
    signs: `amount=123456.779999999999&currency=cny&network=tron&notify_url=${N}&order_id=2026112814000012345678&pid=1002&redirect_url=${R}&token=usdt`,
    writes: asTwelve,
    compares: ['status'],
    answers: ['ok', 'failed'],
  },
  {
    name: 'wyx2685/v2board BEasyPaymentUSDT, which signs an empty type',
    dialect: 'bepusdt',
    sends: `{"amount":9.9,"trade_type":"","notify_url":"${N}","order_id":"2026112814000012345678","redirect_url":"${R}"}`,
    signs: `amount=9.9&notify_url=${N}&order_id=2026112814000012345678&redirect_url=${R}&trade_type=`,
    compares: ['amount', 'status'],
    answers: ['ok', 'failed'],
  },
  {
    name: 'v2board EasyPaymentUSDT, whose 10.0 is signed as 10',
    dialect: 'epusdt',
    sends: `{"order_id":"2026112814000012345678","amount":10.0,"notify_url":"${N}","redirect_url":"${R}"}`,
    signs: `amount=10&notify_url=${N}&order_id=2026112814000012345678&redirect_url=${R}`,
    compares: ['status'],
    answers: ['ok', 'failed'],
  },
  {
    name: 'Xboard’s BEpusdt plugin, whose payer picks',
    dialect: 'bepusdt',
    isChoice: true,
    sends: `{"order_id":"2026112814000012345678","amount":9.9,"notify_url":"${N}","redirect_url":"${R}","fiat":"CNY"}`,
    signs: `amount=9.9&fiat=CNY&notify_url=${N}&order_id=2026112814000012345678&redirect_url=${R}`,
    compares: ['status'],
    answers: ['success', 'fail'],
  },
  {
    name: 'dujiaoka Epusdt, which looks at no status',
    dialect: 'epusdt',
    sends: `{"amount":100.5,"order_id":"DJ7","redirect_url":"${R}","notify_url":"${N}"}`,
    signs: `amount=100.5&notify_url=${N}&order_id=DJ7&redirect_url=${R}`,
    compares: ['amount'],
    answers: ['ok', 'fail'],
  },
  {
    name: 'card-gateway EpUSDT',
    dialect: 'epusdt',
    sends: `{"order_id":"CG7","amount":0.05,"notify_url":"${N}","redirect_url":"${R}"}`,
    signs: `amount=0.05&notify_url=${N}&order_id=CG7&redirect_url=${R}`,
    compares: ['status'],
    answers: ['ok', 'fail'],
  },
  {
    name: 'dujiao-next bepusdt, which signs exactly seven fields again',
    dialect: 'bepusdt',
    sends: `{"order_id":"DN7","amount":1000000,"notify_url":"${N}","redirect_url":"${R}","trade_type":"usdt.bep20"}`,
    signs: `amount=1e+06&notify_url=${N}&order_id=DN7&redirect_url=${R}&trade_type=usdt.bep20`,
    recomputes: SEVEN,
    writes: asGo,
    compares: ['status'],
    answers: ['ok', 'fail'],
  },
  {
    name: 'dujiao-next epusdt, a Go program',
    dialect: 'gmpay',
    sends: `{"pid":"1002","order_id":"DN8","currency":"cny","amount":1234567.89,"notify_url":"${N}","redirect_url":"${R}"}`,
    signs: `amount=1.23456789e+06&currency=cny&notify_url=${N}&order_id=DN8&pid=1002&redirect_url=${R}`,
    writes: asGo,
    compares: ['status'],
    answers: ['ok', 'fail'],
  },
  {
    name: 'orion-key, a Java program',
    dialect: 'bepusdt',
    sends: `{"order_id":"0b0e2d0c-6d0f-4c36-9f3c-0d6f6a3c3a11","amount":42,"notify_url":"${N}","redirect_url":"${R}","trade_type":"usdc.erc20"}`,
    signs: `amount=42.0&notify_url=${N}&order_id=0b0e2d0c-6d0f-4c36-9f3c-0d6f6a3c3a11&redirect_url=${R}&trade_type=usdc.erc20`,
    compares: ['status'],
    answers: ['ok', 'fail'],
  },
  {
    name: 'the plugin for Rainbow EPay, on a PHP that takes 0 for empty',
    dialect: 'bepusdt',
    sends: `{"order_id":"2026112814000012345","amount":"5.00","notify_url":"${N}","redirect_url":"${R}","trade_type":"usdt.trc20","timeout":0}`,
    signs: `amount=5.00&notify_url=${N}&order_id=2026112814000012345&redirect_url=${R}&trade_type=usdt.trc20`,
    compares: ['status'],
    answers: ['ok', 'fail'],
  },
  {
    name: 'epusdt of PyPI, with HMAC-SHA256',
    dialect: 'gmpay',
    algorithm: 'hmac_sha256',
    sends: `{"pid": "1002", "order_id": "PY7", "currency": "cny", "amount": 42, "notify_url": "${N}", "token": "usdt", "network": "binance"}`,
    signs: `amount=42&currency=cny&network=binance&notify_url=${N}&order_id=PY7&pid=1002&token=usdt`,
    compares: ['amount', 'pid', 'status'],
    answers: ['ok', 'fail'],
  },
];

const digest = (text: string, key: string, algorithm?: 'hmac_sha256'): string =>
  algorithm
    ? createHmac('sha256', key).update(text).digest('hex')
    : createHash('md5').update(`${text}${key}`).digest('hex');

/** Returns a client's whole body. */
export function bodyOf({ sends, signs, algorithm }: EpusdtClient, key: string): string {
  const signature = digest(signs, key, algorithm);
  return sends.startsWith('{')
    ? `${sends.slice(0, -1)},"signature":"${signature}"}`
    : `${sends}&signature=${signature}`;
}

/** Returns a client's answer to a notice. */
export function answerOf(client: EpusdtClient, notice: string, key: string): string {
  const [right, wrong] = client.answers;
  const body = JSON.parse(notice) as Readonly<Record<string, string | number>>;
  const write = client.writes ?? String;
  const text = Object.entries(body)
    .filter(([name, value]) => name !== 'signature' && value !== '' && (client.recomputes?.includes(name) ?? true))
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, value]) => `${name}=${typeof value === 'number' ? write(value) : value}`)
    .join('&');
  const amount = Number(/"?amount"?[=:]\s*"?([0-9.]+)/.exec(client.sends)?.[1]);
  const isMine = client.compares.every((name) =>
    name === 'amount' ? body.amount === amount : name === 'pid' ? body.pid === '1002' : body.status === 2,
  );
  return body.signature === digest(text, key, client.algorithm) && isMine ? right : wrong;
}
