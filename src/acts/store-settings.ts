/** The settings of a store: how each is read, shown, and what changing it asks for. */
import { formatUnits, MINOR_DECIMALS, parseUnits } from '../core/money.ts';
import { currencies } from '../core/transfer.ts';
import type { Logo, StoreValues } from '../database/stores.ts';
import { readAccent } from '../lib/accent.ts';
import { readZone } from '../lib/zone.ts';
import { type Field, oneOf, type Sentence, say, type Value } from './act.ts';

export const NAME_CHARS_MAX = 80;
const ORIGINS_MAX = 20;
const DAY_S = 86_400;
const ORIGIN_EXAMPLE = 'https://shop.example';
/** The colour of a payment page without one of its own. */
const USUAL_ACCENT = '#0b6e5f';

/** All that is set of a store. `logo`: the hash of the one that is kept, or a new one. */
export type StoreState = Omit<StoreValues, 'logo'> & Readonly<{ logo: Logo | string | null }>;

type Known = string | number | boolean | null | readonly string[] | Logo;

export type StoreSetting = Field &
  Readonly<{
    /** Its input, and its option without the dashes. */
    name: string;
    key: keyof StoreState;
    /** The operator's alone. */
    isOperators?: true;
    /** Changing it lets more money out, takes less money for an order, or lets another site show the page. */
    needsFactor?: true;
    /** Returns its value, or what is wrong with the text. */
    read(text: string): Known | Sentence;
    /** Returns the text that `read` reads. */
    write(state: StoreState): string;
  }>;

type Plain = Omit<StoreSetting, 'read' | 'write'>;

export const wrong = (label: Sentence, text: string): Sentence =>
  say('“{setting}” cannot be “{value}”.', { setting: label, value: text });

/** A whole number of a unit, kept in a smaller one. */
const whole = (plain: Plain, [min, max]: readonly [number, number], factor = 1): StoreSetting => ({
  ...plain,
  read(text) {
    const number = /^\d{1,9}$/.test(text) ? Number(text) : -1;
    return number >= min && number <= max ? number * factor : wrong(plain.label, text);
  },
  write: (state) => String(Math.floor(Number(state[plain.key]) / factor)),
});

export const cents = (plain: Plain): StoreSetting => ({
  ...plain,
  value: 'AMOUNT',
  needsFactor: true,
  read(text) {
    const minor = parseUnits(text, MINOR_DECIMALS);
    const isFit = minor !== null && minor <= BigInt(Number.MAX_SAFE_INTEGER);
    return isFit ? Number.parseInt(minor.toString(), 10) : wrong(plain.label, text);
  },
  write: (state) => formatUnits(BigInt(Number(state[plain.key])), MINOR_DECIMALS, MINOR_DECIMALS),
});

export const choice = (plain: Plain, choices: readonly string[]): StoreSetting => ({
  ...plain,
  choices,
  read: oneOf(choices),
  write: (state) => String(state[plain.key]),
});

/** Returns the name, or undefined if it cannot be one. */
export const readName = (text: string): string | undefined =>
  text !== '' && [...text].length <= NAME_CHARS_MAX && !/\p{Cc}/u.test(text) ? text : undefined;

/** A host of letters, digits, dots and hyphens, or a bracketed address: no `*`, and nothing that ends a directive. */
const ORIGIN = /^https?:\/\/(?:[a-z0-9.-]+|\[[0-9a-f:.]+\])(?::\d+)?$/;

/** Returns origins as browsers write them: anything else would never match, or match too much. */
function readOrigins(text: string): readonly string[] | Sentence {
  const origins = isNone(text) ? [] : [...new Set(text.split(/[\s,]+/).filter((one) => one !== ''))];
  const isOrigin = (one: string) => ORIGIN.test(one) && URL.canParse(one) && new URL(one).origin === one;
  if (origins.length <= ORIGINS_MAX && origins.every(isOrigin)) return origins;
  return say('Name at most {count} sites, such as {example}, without a path.', {
    count: ORIGINS_MAX,
    example: ORIGIN_EXAMPLE,
  });
}

export const isNone = (text: string): boolean => text === '' || text === 'none';

export const logoHash = (logo: StoreState['logo']): string | null =>
  typeof logo === 'string' ? logo : (logo?.hash ?? null);

const nameLabel = say('Name, as payers see it');
const zoneLabel = say('Time zone of its days, such as Europe/Berlin');

/** Settings that new sessions copy. */
const ofSessions: readonly StoreSetting[] = [
  choice(
    {
      name: 'settlement',
      key: 'settlementCurrency',
      label: say('Stablecoin that other currencies are converted to'),
    },
    currencies,
  ),
  whole(
    {
      name: 'tolerance',
      key: 'toleranceMinor',
      label: say('Tolerance: cents that may be missing from a full payment'),
      value: 'CENTS',
      needsFactor: true,
    },
    [0, 1_000_000],
  ),
  whole(
    {
      name: 'grace',
      key: 'topUpGraceS',
      label: say('Minutes after expiry to top up a payment that is too small'),
      value: 'MINUTES',
    },
    [0, 527_040],
    60,
  ),
  whole(
    {
      name: 'monitoring',
      key: 'monitoringS',
      label: say('Days after expiry in which late money can still complete a payment'),
      value: 'DAYS',
    },
    [0, 366],
    DAY_S,
  ),
  {
    ...choice(
      {
        name: 'late',
        key: 'latePolicy',
        label: say('A full payment that comes late'),
        needsFactor: true,
      },
      ['hold', 'accept'],
    ),
    offers: { hold: say('is held for your decision'), accept: say('is accepted') },
  },
];

const ofRefunds: readonly StoreSetting[] = [
  whole(
    {
      name: 'refundWindow',
      key: 'refundWindowS',
      label: say('Days after a payment to refund it'),
      value: 'DAYS',
      needsFactor: true,
    },
    [0, 3650],
    DAY_S,
  ),
  cents({
    name: 'refundDaily',
    key: 'refundDailyMinor',
    label: say('The most to refund in a day (UTC), in USDT or USDC'),
  }),
  cents({
    name: 'refundAutomatic',
    key: 'refundAutoMinor',
    label: say('Refunds up to this need no approval, in USDT or USDC'),
  }),
  whole(
    {
      name: 'refundCancelWindow',
      key: 'refundCancelWindowS',
      label: say('Seconds in which a refund can still be canceled'),
      value: 'SECONDS',
      needsFactor: true,
    },
    [0, DAY_S],
  ),
  whole(
    {
      name: 'refundClaim',
      key: 'refundClaimS',
      label: say('Days that the payer has to name an address for a refund'),
      value: 'DAYS',
      needsFactor: true,
    },
    [1, 3650],
    DAY_S,
  ),
];

const ofPage: readonly StoreSetting[] = [
  {
    name: 'accent',
    key: 'accent',
    label: say('Colour'),
    hint: say('Colour of buttons and bars; empty for the usual one. An illegible colour is made lighter or darker.'),
    value: '#RRGGBB|none',
    read: (text) =>
      isNone(text) ? null : (readAccent(text) ?? say('A colour is written like {example}.', { example: USUAL_ACCENT })),
    write: ({ accent }) => accent ?? '',
  },
  {
    name: 'origins',
    key: 'embedOrigins',
    needsFactor: true,
    label: say('Sites that may show the page in a frame'),
    help: `sites that may show the page in a frame, comma-separated, such as ${ORIGIN_EXAMPLE}`,
    value: 'LIST|none',
    read: readOrigins,
    write: ({ embedOrigins }) => embedOrigins.join(', '),
  },
];

export const storeSettings: readonly StoreSetting[] = [
  {
    name: 'name',
    key: 'name',
    label: nameLabel,
    isProse: true,
    value: 'NAME',
    read: (text) => readName(text) ?? wrong(nameLabel, text),
    write: ({ name }) => name,
  },
  {
    name: 'zone',
    key: 'zone',
    label: zoneLabel,
    // UTC is not among those that the runtime names.
    suggestions: ['UTC', ...Intl.supportedValuesOf('timeZone')],
    value: 'ZONE',
    read: (text) => readZone(text) ?? wrong(zoneLabel, text),
    write: ({ zone }) => zone,
  },
  ...ofSessions,
  ...ofRefunds,
  ...ofPage,
];

/** Returns a setting for people. */
export function shownSetting({ offers, write }: StoreSetting, state: StoreState): Value {
  const text = write(state);
  return offers?.[text] ?? (text === '' ? say('none') : text);
}
