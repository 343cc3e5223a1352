/**
 * The settings of a store as options of commands: one row each, which creates, changes and shows it.
 * @module
 */
import type { NetworkConfig } from '../../src/config/network.ts';
import type { CreditTier } from '../../src/core/credit-policy.ts';
import { formatUnits, MINOR_DECIMALS, parseUnits } from '../../src/core/money.ts';
import type { RefundPolicy } from '../../src/core/refund.ts';
import { parseStoreCredit, storeCreditExample } from '../../src/core/store-credit.ts';
import { currencies } from '../../src/core/transfer.ts';
import type { StoreSettings, StoreValues } from '../../src/database/stores.ts';
import { readZone } from '../../src/lib/zone.ts';
import { choiceOption, type Input, type Option, textOption, usage, wholeOption } from './command.ts';

type Value = StoreValues[keyof StoreValues];

type Setting<Key extends keyof StoreValues> = Readonly<{
  key: Key;
  /** The option, without its dashes, and the placeholder or the choices of its value. */
  option: string;
  value?: string;
  choices?: readonly string[];
  help: string;
  /** @throws Fault permanent `usage` */
  read(input: Input, option: string): Value;
  text(value: Value): string;
}>;

const DAY_S = 24 * 3600;
const YEAR_S = 366 * DAY_S;
const DAYS_MAX = 3650;
const NAME_CHARS_MAX = 80;

const whole = (min: number, max: number, factor = 1) => ({
  read: (input: Input, option: string) => wholeOption(input, option, min, max, min) * factor,
});
const seconds = (max: number) => ({ value: 'SECONDS', ...whole(0, max), text: (value: Value) => `${value} s` });
const days = (min: number) => ({
  value: 'DAYS',
  ...whole(min, DAYS_MAX, DAY_S),
  text: (value: Value) => `${Number(value) / DAY_S} days`,
});
const choice = <T extends string>(choices: readonly T[]) => ({
  choices,
  read: (input: Input, option: string) => choiceOption(input, option, choices),
  text: String,
});
const cents = {
  value: 'AMOUNT',
  read: centsOption,
  text: (value: Value) => formatUnits(BigInt(value), MINOR_DECIMALS, MINOR_DECIMALS),
};

/** What new sessions copy. */
export const sessionSettings: readonly Setting<keyof StoreSettings>[] = [
  {
    key: 'settlementCurrency',
    option: 'settlement',
    help: 'the stablecoin that other currencies are converted to',
    ...choice(currencies),
  },
  {
    key: 'toleranceMinor',
    option: 'tolerance',
    help: 'how many cents less than the price still pay a session in full',
    value: 'CENTS',
    ...whole(0, 1_000_000),
    text: (value) => `${value} cents`,
  },
  {
    key: 'topUpGraceS',
    option: 'grace',
    help: 'how long after expiry a partial payment can be topped up',
    ...seconds(YEAR_S),
  },
  {
    key: 'monitoringS',
    option: 'monitoring',
    help: 'how long after its last deadline a session can still accept a late payment',
    ...seconds(YEAR_S),
  },
  {
    key: 'latePolicy',
    option: 'late',
    help: 'accept late full payments, or hold them for your decision',
    ...choice(['hold', 'accept']),
  },
  {
    key: 'credit',
    option: 'credit',
    value: 'RULES',
    help: `what payments need besides the networks’ confirmations, such as ${storeCreditExample}`,
    read: creditOption,
    text: (value) => (value === '' ? 'none' : String(value)),
  },
];

export const refundSettings: readonly Setting<keyof RefundPolicy>[] = [
  { key: 'refundWindowS', option: 'window', help: 'how many days after the payment refunds are possible', ...days(0) },
  {
    key: 'refundDailyMinor',
    option: 'daily',
    help: 'the most that the store may refund in a day (UTC), such as 10000.00',
    ...cents,
  },
  { key: 'refundAutoMinor', option: 'automatic', help: 'refunds up to this amount need no approval', ...cents },
  {
    key: 'refundCancelWindowS',
    option: 'cancel-window',
    help: 'how many seconds a refund can be canceled before it is signed',
    ...seconds(DAY_S),
  },
  { key: 'refundClaimS', option: 'claim', help: 'how many days a claim link accepts the payer’s address', ...days(1) },
  {
    key: 'refundToSender',
    option: 'to-sender',
    help: 'whether refunds may go to the sending address, which may be an exchange’s',
    choices: ['yes', 'no'],
    read: (input, option) => choiceOption(input, option, ['yes', 'no']) === 'yes',
    text: (value) => (value ? 'yes' : 'no'),
  },
  {
    key: 'refundEarlyMaxMinor',
    option: 'early-max',
    help: 'what a session may refund before its payment is final, such as 20.00',
    ...cents,
  },
];

/** Every setting of a store, with the options of `store update`. */
export const storeSettings: readonly Setting<keyof StoreValues>[] = [
  {
    key: 'name',
    option: 'name',
    value: 'NAME',
    help: 'the shop’s name as payers see it',
    read: nameOption,
    text: String,
  },
  {
    key: 'zone',
    option: 'zone',
    value: 'ZONE',
    help: 'the time zone of its days and of times on the dashboard, such as Europe/Berlin',
    read: zoneOption,
    text: String,
  },
  ...sessionSettings,
  ...refundSettings.map((setting) => ({ ...setting, option: `refund-${setting.option}` })),
];

/** Returns the options that these settings are read from. */
export const optionsOf = (settings: readonly Setting<keyof StoreValues>[]): Record<string, Option> =>
  Object.fromEntries(
    settings.map(({ option, value = 'VALUE', choices, help }) => [
      option,
      choices ? { choices, help } : { value, help },
    ]),
  );

/** Returns what the command line sets. @throws Fault permanent `usage` */
export const readSettings = <Key extends keyof StoreValues>(
  settings: readonly Setting<Key>[],
  input: Input,
): Partial<Pick<StoreValues, Key>> =>
  Object.fromEntries(
    settings
      .filter(({ option }) => textOption(input, option) !== undefined)
      .map(({ key, option, read }) => [key, read(input, option)]),
  ) as Partial<Pick<StoreValues, Key>>;

/** Returns settings under their names in JSON: `late_policy`. */
export const settingsJson = (values: Partial<StoreValues>): Record<string, Value> =>
  Object.fromEntries(
    Object.entries(values).map(([key, value]) => [
      key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
      value,
    ]),
  );

/** Returns the option's name. @throws Fault permanent `usage` */
export function nameOption(input: Input, option: string): string {
  const name = (textOption(input, option) ?? '').trim();
  if (name !== '' && [...name].length <= NAME_CHARS_MAX && !/\p{Cc}/u.test(name)) return name;
  throw usage(`--${option} is "${name}", expected 1 to ${NAME_CHARS_MAX} characters`);
}

/** Returns the option's time zone. @throws Fault permanent `usage` */
function zoneOption(input: Input, option: string): string {
  const text = textOption(input, option) ?? '';
  const zone = readZone(text);
  if (zone !== null) return zone;
  throw usage(`--${option} is "${text}", expected an IANA time zone such as Europe/Berlin, Asia/Kolkata or UTC`);
}

/** Returns the option's rules, or '' for `none`. @throws Fault permanent `usage` */
function creditOption(input: Input, option: string): string {
  const text = (textOption(input, option) ?? '').replaceAll(' ', '');
  if (text === 'none') return '';
  if (text !== '' && parseStoreCredit(text)) return text;
  throw usage(
    `--${option} is "${text}", expected none, or rules NETWORK=CONDITION or NETWORK=CONDITION@AMOUNT with commas ` +
      `between them, such as ${storeCreditExample}; a condition is a number of blocks, finalized or second-node`,
  );
}

/**
 * Checks that a store's rules can be met on the configured networks.
 * @throws Fault permanent `usage`
 */
export function checkCredit(networks: readonly NetworkConfig[], text = ''): void {
  for (const tier of parseStoreCredit(text) ?? []) {
    const named = networks.filter(({ name }) => name === tier.network);
    const why = named.length === 0 ? 'no such network is configured' : named.flatMap((one) => obstacle(one, tier))[0];
    if (why) throw usage(`--credit names ${tier.network}: ${why}`);
  }
}

function obstacle({ key, finalityUrl, witnessUrl, reorgDepthMax }: NetworkConfig, tier: CreditTier): string[] {
  if (tier.finality && finalityUrl === null) return [`${key} shows no final blocks, because its solid_url is null`];
  if (tier.secondNode && witnessUrl === undefined) return [`${key} has no second node; set its witness_url first`];
  const isTooDeep = (tier.blocks ?? 0) > reorgDepthMax;
  return isTooDeep ? [`${tier.blocks} blocks are more than reorg_depth_max (${reorgDepthMax}) of ${key}`] : [];
}

/** Returns the option's amount in cents. @throws Fault permanent `usage` */
function centsOption(input: Input, option: string): number {
  const amount = parseUnits(textOption(input, option) ?? '', MINOR_DECIMALS);
  if (amount === null || amount > BigInt(Number.MAX_SAFE_INTEGER)) {
    throw usage(`--${option} must be an amount such as 100.00, with at most two decimals`);
  }
  return Number.parseInt(amount.toString(), 10);
}
