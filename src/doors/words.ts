/**
 * The texts that all doors' requests share: ways to pay, money, names, URLs.
 */
import type { DoorMethod, DoorTerms } from '../core/door.ts';
import type { Currency } from '../core/transfer.ts';
import { readShipped } from '../lib/installation.ts';
import { type DoorFault, doorFault } from './faults.ts';

const NAME_BYTES_MAX = 127;
const URL_UNITS_MAX = 1024;
const MONEY = /^([0-9]{1,9})(?:\.([0-9]{1,2})0*)?$/;
const COIN_WORD = /^(usdt|usdc)[._-]([a-z0-9]+)$/;
const ORDER_NO = /^[\w.|-]{1,64}$/;

/** Words of clients for each network. The first one is Epusdt's own. */
const words = readShipped<Readonly<Record<string, readonly string[]>>>('config/network-words.json');
const networkWords = new Map(
  Object.entries(words).flatMap(([network, names]) => names.map((name) => [name, network] as const)),
);

/** Returns what Epusdt calls a network. */
export const wordOf = (network: string): string => words[network]?.[0] ?? network;

const coins: ReadonlyMap<string, Currency> = new Map([
  ['usdt', 'USDT'],
  ['usdc', 'USDC'],
]);

/**
 * Reads a type such as `usdt.trc20`; sub2api's cannot have a dot, so `_` and `-` separate too.
 * @returns null for any other word: the payer picks. `unknown`: a coin on a network that nobody here knows
 */
export function methodOf(type: string): DoorMethod | null | 'unknown' {
  const [, coin, network] = COIN_WORD.exec(type.toLowerCase()) ?? [];
  return coin === undefined || network === undefined ? null : methodOfPair(coin, network);
}

/** Reads a coin and a network that are two fields. */
export function methodOfPair(coinWord: string, networkWord: string): DoorMethod | 'unknown' {
  const coin = coins.get(coinWord.toLowerCase());
  const network = networkWords.get(networkWord.toLowerCase());
  return coin && network ? { network, coin } : 'unknown';
}

/** Returns an amount above zero with two decimals, or null. More decimals are allowed only if they are zeros. */
export function readMoney(text: string): string | null {
  const [matched, whole = '', fraction = ''] = MONEY.exec(text) ?? [];
  if (matched === undefined) return null;
  const money = `${BigInt(whole)}.${fraction.padEnd(2, '0')}`;
  return Number(money) > 0 ? money : null;
}

/** Returns a decimal without zeros at its end. */
export const shortest = (text: string): string => (text.includes('.') ? text.replace(/\.?0+$/, '') : text);

/** Returns the name without what another reader of our signed text could cut at, at most 127 bytes long. */
export function cleanName(text: string): string {
  let name = text.replaceAll(/[&=\\"'<>\p{Cc}]/gu, '').trim();
  while (Buffer.byteLength(name) > NAME_BYTES_MAX) name = [...name].slice(0, -1).join('').trim();
  return name;
}

/** Returns whether a text can be signed as it is. */
export const isParam = (text: string): boolean => /^[A-Za-z0-9._:@/+-]{0,255}$/.test(text);

/** Whether its host may be asked is checked when a notice is sent. */
const isUrl = (text: string): boolean =>
  text.length <= URL_UNITS_MAX && /^https?:\/\/[^\s\\"<>]+$/i.test(text) && URL.canParse(text);

/** The parameters of an order that all dialects have, by each one's names. */
type Names = Readonly<Record<'orderNo' | 'money' | 'notifyUrl' | 'returnUrl', string>>;
type Common = Readonly<{ orderNo: string; terms: Pick<DoorTerms, 'money' | 'name' | 'notifyUrl' | 'returnUrl'> }>;

/** Reads the part of an order that is the same in all dialects, or returns which parameter is wrong. */
export function readCommon(text: (name: string) => string, names: Names): Common | DoorFault {
  const missing = [names.orderNo, names.money, names.notifyUrl].find((name) => text(name) === '');
  if (missing !== undefined) return doorFault(missing, 'missing');
  const [orderNo, notifyUrl, returnUrl] = [text(names.orderNo), text(names.notifyUrl), text(names.returnUrl)];
  const money = readMoney(text(names.money));
  if (!ORDER_NO.test(orderNo)) return doorFault(names.orderNo, 'malformed');
  if (money === null) return doorFault(names.money, 'malformed');
  if (!isUrl(notifyUrl)) return doorFault(names.notifyUrl, 'malformed');
  if (returnUrl !== '' && !isUrl(returnUrl)) return doorFault(names.returnUrl, 'malformed');
  return {
    orderNo,
    terms: { money, name: cleanName(text('name')) || orderNo, notifyUrl, returnUrl: returnUrl || null },
  };
}
