/**
 * Column types for values that SQLite has no type for. Null is never mapped.
 */
import { customType } from 'drizzle-orm/sqlite-core';
import type { Beginning } from '../../core/arrival.ts';
import { parseExactly, writeExactly } from '../../core/exact-json.ts';
import { invariant, permanent } from '../../core/fault.ts';
import { type Intent, withoutMac } from '../../core/intent.ts';
import { parToUnitsCeil } from '../../core/money.ts';
import type { ReceiptSum, Terms } from '../../core/session.ts';
import { type Currency, type NetworkKey, nameOf } from '../../core/transfer.ts';
import type { Conversion, PaymentOption, SessionRequest } from '../column-values.ts';

/** Returns the type of a column whose values are TEXT in the file. */
const asText = <T>(write: (value: T) => string, read: (text: string) => T) =>
  customType<{ data: T; driverData: string | null }>({
    dataType: () => 'text',
    // A value that is passed when a statement runs may be null.
    toDriver: (value) => (value === null ? null : write(value)),
    fromDriver: (text) => read(text as string),
  });

/**
 * Integers of any size, such as money: decimal TEXT in the file, bigint in code. An INTEGER column would overflow at
 * 9.2 tokens with 18 decimals, and SQL arithmetic on text uses floating point: add and compare only in code.
 */
export const units = asText<bigint>(
  (value) => value.toString(),
  (text) => BigInt(text),
);

/** Integers of any size in JSON: text as in code, such as `5n`. No other text of these columns has this form. */
const BIGINT = /^-?\d+n$/;
function bigintAsText(_: string, value: unknown): unknown {
  invariant(typeof value !== 'string' || !BIGINT.test(value), 'a text would be read as an integer');
  return typeof value === 'bigint' ? `${value}n` : value;
}
const textAsBigint = (_: string, value: unknown) =>
  typeof value === 'string' && BIGINT.test(value) ? BigInt(value.slice(0, -1)) : value;

/** Writes plain data with integers of any size as JSON text. */
export const writeBigJson = (value: unknown): string => JSON.stringify(value, bigintAsText);
export const readBigJson = <T>(text: string): T => JSON.parse(text, textAsBigint) as T;

/** Plain data as JSON text. */
export const json = <T>() =>
  asText<T>(
    (value) => JSON.stringify(value),
    (text) => JSON.parse(text) as T,
  )();

/** A merchant's own data, as JSON text with its numbers as they were. */
export const exactJson = <T>() => asText<T>(writeExactly, (text) => parseExactly(text) as T)();

/** The terms that a session is created with and keeps. A value that is queried, or changes, has a column of its own. */
export type SessionTerms = Omit<Terms, keyof Beginning> &
  Pick<SessionRequest, 'taxMinor' | 'shippingMinor' | 'webhookUrl'> &
  Readonly<{
    conversion: Conversion | null;
    options: readonly PaymentOption[];
    /** The order of a door that made it, by its id. */
    doorOrder?: string;
  }>;

/** The order of the terms in the file: their names would be most of a session's row. The last ones are often null. */
const termNames = [
  ...(['duePar', 'tolerancePar', 'accepts', 'expiresAtS', 'topUpGraceS', 'monitoringS', 'latePolicy'] as const),
  ...(['options', 'conversion', 'taxMinor', 'shippingMinor', 'webhookUrl', 'doorOrder'] as const),
] satisfies readonly (keyof SessionTerms)[];

/** The kinds of the first terms, without which nobody can tell what is due. */
const kindsOfTerms = ['bigint', 'bigint', 'list', 'number', 'number', 'number', 'string', 'list'];
const kindOf = (value: unknown): string => (value === null ? 'null' : Array.isArray(value) ? 'list' : typeof value);

/** A network that a session offers: its key, family, chain id, usual confirmations, inclusion grace, and its tokens. */
type OfferedNetwork = [NetworkKey, string, string, number, number | null, ...OfferedToken[]];
/** A token's currency, contract and decimals. The amount due in it follows from `duePar`. */
type OfferedToken = [Currency, string, number];

function writeOptions({ options, inclusionGraceS }: SessionTerms): OfferedNetwork[] {
  const networks: OfferedNetwork[] = [];
  for (const { networkKey, family, chainId, confirmationsRequired, currency, token, decimals } of options) {
    let network = networks.at(-1);
    if (network?.[0] !== networkKey) {
      network = [networkKey, family, chainId, confirmationsRequired, inclusionGraceS[networkKey] ?? null];
      networks.push(network);
    }
    network.push([currency, token, decimals]);
  }
  return networks;
}

const readOptions = (duePar: bigint, networks: readonly OfferedNetwork[]): PaymentOption[] =>
  networks.flatMap(([networkKey, family, chainId, confirmationsRequired, _graceS, ...tokens]) =>
    tokens.map(([currency, token, decimals]) => ({
      network: nameOf(networkKey),
      networkKey,
      family,
      chainId,
      confirmationsRequired,
      currency,
      token,
      decimals,
      units: parToUnitsCeil(duePar, decimals),
    })),
  );

/** @throws Fault permanent `row_altered` */
export function readSessionTerms(text: string): SessionTerms {
  const values = readBigJson<readonly unknown[]>(text);
  if (!Array.isArray(values) || !kindsOfTerms.every((kind, at) => kindOf(values[at]) === kind))
    throw permanent('row_altered', 'The terms of a session were altered in the database: restore it from a backup.');
  const named = termNames.map((name, at) => [name, values[at] ?? null]);
  const { doorOrder, options, ...terms } = Object.fromEntries(named) as Omit<SessionTerms, 'options'> & {
    options: OfferedNetwork[];
  };
  const graces = options.flatMap(([key, , , , graceS]) => (graceS === null ? [] : [[key, graceS]]));
  return {
    ...terms,
    inclusionGraceS: Object.fromEntries(graces),
    options: readOptions(terms.duePar, options),
    ...(doorOrder && { doorOrder }),
  };
}

/** A session's terms as JSON text: a list of their values, with options by network. */
export const sessionTerms = asText<SessionTerms>((terms) => {
  const values = termNames.map((name) => (name === 'options' ? writeOptions(terms) : (terms[name] ?? null)));
  return writeBigJson(values.slice(0, values.findLastIndex((value) => value !== null) + 1));
}, readSessionTerms);

const sumNames = ['network', 'currency', 'decimals', 'phase', 'seen', 'confirmed', 'final'] as const;

export const readReceiptSums = (text: string): ReceiptSum[] =>
  readBigJson<readonly unknown[][]>(text).map(
    (values) => Object.fromEntries(sumNames.map((name, at) => [name, values[at]])) as unknown as ReceiptSum,
  );

/** A session's sums as JSON text, each a list of its values. */
export const receiptSums = asText<readonly ReceiptSum[]>(
  (sums) => writeBigJson(sums.map((sum) => sumNames.map((name) => sum[name]))),
  readReceiptSums,
);

/** Writes equal intents as the same text, whatever the order of their fields. */
export const writeIntent = (intent: Intent): string => JSON.stringify(intent, plain);

/** Returns whether two intents pay the same, whichever version of the secret key made their MACs. */
export const isSameIntent = (one: Intent, other: Intent): boolean =>
  writeIntent(withoutMac(one)) === writeIntent(withoutMac(other));

function plain(key: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return bigintAsText(key, value);
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** An intent as JSON text. */
export const intent = asText<Intent>(writeIntent, readBigJson);
