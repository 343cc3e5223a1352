/** Readings: lists with the same filters, the same limit, JSON for programs and a table for people. */
import type { NetworkKey } from '../../src/core/transfer.ts';
import { type Command, type Input, type Installation, type Option, textOption, wholeOption } from './command.ts';
import { networkOf } from './networks.ts';
import { listLines } from './table.ts';

const LISTED = 50;
const LISTED_MAX = 10_000;

const scopes = {
  store: { value: 'ID', help: 'only those of this store' },
  network: { value: 'KEY', help: 'only those on this network, such as live:mychain' },
} as const satisfies Readonly<Record<string, Option>>;

const limit: Option = { value: 'N', help: `at most N (${LISTED}), up to ${LISTED_MAX}` };

/** The filters of a list. Without them it is complete. */
type Filter<State extends string> = Readonly<{
  storeId?: string;
  network?: NetworkKey;
  state?: State;
  limit: number;
}>;

/** `shown`: the members of a row that people see. `states`: words to choose rows by. */
type Reading<Row extends object, State extends string> = Pick<Command, 'name' | 'summary' | 'notes'> &
  Readonly<{
    by?: readonly (keyof typeof scopes)[];
    states?: readonly State[];
    shown: readonly (keyof Row & string)[];
    /** Returns rows as programs get them, the newest first. */
    load(filter: Filter<State>, installation: Installation): Promise<readonly Row[]>;
  }>;

/** Returns the command that lists. */
export function readingOf<Row extends object, State extends string = never>(reading: Reading<Row, State>): Command {
  const { name, summary, notes, by = [], states, shown, load } = reading;
  return {
    ...{ name, summary, ...(notes && { notes }) },
    options: {
      ...Object.fromEntries(by.map((scope) => [scope, scopes[scope]])),
      ...(states && { state: { choices: states, help: 'only in this state' } }),
      limit,
    },
    async run(input, installation) {
      const rows = await load(filterOf(input, installation), installation);
      return { json: rows, lines: rows.length === 0 ? ['none'] : listLines(rows, shown) };
    },
  };
}

/** Returns the filter that the options give. Its words were checked as choices already. */
function filterOf<State extends string>(input: Input, { config }: Installation): Filter<State> {
  const [storeId, network] = [textOption(input, 'store'), textOption(input, 'network')];
  const state = textOption(input, 'state') as State | undefined;
  return {
    ...(storeId !== undefined && { storeId }),
    ...(network !== undefined && { network: networkOf(config.networks, network).key }),
    ...(state && { state }),
    limit: wholeOption(input, 'limit', 1, LISTED_MAX, LISTED),
  };
}
