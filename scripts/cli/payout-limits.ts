/**
 * Shows and changes limits on what leaves for refunds and returns, of a store or a network.
 * @module
 */
import { formatUnits, MINOR_DECIMALS, parseUnits } from '../../src/core/money.ts';
import { limitText, type PayoutLimit } from '../../src/core/payout-limit.ts';
import type { LimitScope, LimitState } from '../../src/database/payout-limits.ts';
import {
  becauseOption,
  type Command,
  dryRunOption,
  type Input,
  type Installation,
  operatorAct,
  storeOf,
  table,
  textOption,
  usage,
} from './command.ts';
import { networkOf } from './network-name.ts';

const AMOUNT_MAX = 10n ** 15n;
const COUNT_MAX = 1_000_000;
const NONE = 'none';
const amounts = { hour: 'hourMinor', day: 'dayMinor' } as const;
const counts = { 'hour-count': 'hourCount', 'day-count': 'dayCount' } as const;

export const payoutsLimits: Command = {
  name: 'payouts limits',
  args: [],
  optionalArgs: ['network'],
  summary: 'Show or change how much may leave for refunds in an hour and a day, from a store or on a network.',
  options: {
    store: { value: 'ID', help: 'the limit of this store, for live and test money separately' },
    hour: { value: 'AMOUNT', help: 'at most this much in 60 minutes, such as 500.00; none: no limit' },
    day: { value: 'AMOUNT', help: 'at most this much in a UTC day' },
    'hour-count': { value: 'N', help: 'at most this many refunds in 60 minutes' },
    'day-count': { value: 'N', help: 'at most this many in a UTC day' },
    because: becauseOption,
    'dry-run': dryRunOption,
  },
  notes: [
    'What exceeds a limit waits, and an alarm says so. It is paid when there is room again, when the limit is raised',
    '(within five minutes), or on an approver’s order: `quayside refunds request`, then `refunds approve --approval`.',
    'An amount is one of USDT and USDC together. Without a network and a store, all limits are shown.',
  ],
  async run(input, installation) {
    const { database, clock } = installation;
    const changes = readChanges(input);
    const scope = await scopeOf(input, installation);
    const isShowing = Object.keys(changes).length === 0;
    if (!scope && !isShowing) throw usage('name a network, such as live:bsc, or a store with --store');
    if (!scope) {
      const all = await database.listPayoutLimits(clock.nowMs());
      return { json: all.map(limitJson), lines: all.length === 0 ? ['no limits are set'] : all.flatMap(limitLines) };
    }
    const before = await database.payoutLimit(scope, clock.nowMs());
    const act = operatorAct(payoutsLimits, input, clock);
    if (!isShowing && act.reason === null) throw usage('--because is missing: say why, for the audit log');
    const isDryRun = input.options['dry-run'] === true;
    if (!isShowing && !isDryRun) await database.setPayoutLimit(scope, changes, act);
    const after = { ...before, limit: { ...before.limit, ...changes } };
    const title = isShowing ? [] : [isDryRun ? 'would be changed to:' : 'changed to:'];
    return {
      json: { ...limitJson(after), before: settingsOf(before.limit), dry_run: isDryRun },
      lines: [...title, ...limitLines(after)],
    };
  },
};

/** @throws Fault permanent `usage`, `not_found` */
async function scopeOf(input: Input, { database, config }: Pick<Installation, 'database' | 'config'>) {
  const [name] = input.args;
  const isStore = textOption(input, 'store') !== undefined;
  if (name !== undefined && isStore) throw usage('name a network or a store, not both');
  if (isStore) return { storeId: (await storeOf(input, database)).id };
  return name === undefined ? null : { network: networkOf(config.networks, name).key };
}

/** @throws Fault permanent `usage` */
function readChanges(input: Input): Partial<PayoutLimit> {
  const changes: { -readonly [Key in keyof PayoutLimit]?: PayoutLimit[Key] } = {};
  for (const [option, key] of Object.entries(amounts)) {
    const text = textOption(input, option);
    if (text === undefined) continue;
    const minor = text === NONE ? null : parseUnits(text, MINOR_DECIMALS);
    const isBad = text !== NONE && (minor === null || minor > AMOUNT_MAX);
    if (isBad) throw usage(`--${option} is "${text}", expected an amount with at most two decimals, or none`);
    changes[key] = minor;
  }
  for (const [option, key] of Object.entries(counts)) {
    const text = textOption(input, option);
    if (text === undefined) continue;
    const count = text === NONE ? null : /^\d{1,7}$/.test(text) ? Number(text) : Number.NaN;
    if (count !== null && !(count <= COUNT_MAX)) {
      throw usage(`--${option} is "${text}", expected a whole number up to ${COUNT_MAX}, or none`);
    }
    changes[key] = count;
  }
  return changes;
}

const amountOf = (minor: bigint | null): string | null =>
  minor === null ? null : formatUnits(minor, MINOR_DECIMALS, MINOR_DECIMALS);

const settingsOf = ({ hourMinor, dayMinor, hourCount, dayCount }: PayoutLimit) => ({
  hour: amountOf(hourMinor),
  day: amountOf(dayMinor),
  hour_count: hourCount,
  day_count: dayCount,
});

const nameOf = (scope: LimitScope): string => ('storeId' in scope ? `store ${scope.storeId}` : scope.network);

export const limitJson = ({ scope, limit, spent }: LimitState) => ({
  store: 'storeId' in scope ? scope.storeId : null,
  network: 'network' in scope ? scope.network : null,
  ...settingsOf(limit),
  spent: spent.map(({ mode, ...one }) => ({ mode, ...settingsOf(one) })),
});

/** Returns a line for each mode, such as "store st_1, live: 20.00 of 500.00, 1 payouts in the last hour; …". */
export const limitLines = ({ scope, limit, spent }: LimitState): string[] =>
  table(
    spent.map((one) => [
      `${nameOf(scope)}${'storeId' in scope ? `, ${one.mode}` : ''}`,
      `last hour: ${limitText(limit, one, 'hour')}`,
      `UTC day: ${limitText(limit, one, 'day')}`,
    ]),
  );
