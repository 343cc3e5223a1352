/** Readings: lists with the same filters, the same limit, JSON for programs and a table for people. */
import type { NetworkKey } from '../../src/core/transfer.ts';
import { type Command, type Input, type Installation, type Option, textOption, wholeOption } from './command.ts';
import { networkOf } from './network-name.ts';
import { findSession } from './session.ts';
import { listLines } from './table.ts';

const LISTED = 50;
const LISTED_MAX = 10_000;

const scopes = {
  store: { value: 'ID', help: 'only those of this store' },
  session: { value: 'ID', help: 'only those of this session' },
  network: { value: 'KEY', help: 'only those on this network, such as live:mychain' },
} as const satisfies Readonly<Record<string, Option>>;

const limit: Option = { value: 'N', help: `at most N (${LISTED}), up to ${LISTED_MAX}` };

/** The filters of a list. Without them it is complete. */
type Filter<State extends string, Kind extends string> = Readonly<{
  storeId?: string;
  sessionId?: string;
  network?: NetworkKey;
  state?: State;
  kind?: Kind;
  limit: number;
}>;

/** `shown`: the members of a row that people see. `states`, `kinds`: words to choose rows by. */
export type Reading<Row extends object, State extends string, Kind extends string> = Pick<
  Command,
  'name' | 'summary' | 'notes'
> &
  Readonly<{
    by?: readonly (keyof typeof scopes)[];
    states?: readonly State[];
    kinds?: readonly Kind[];
    shown: readonly (keyof Row & string)[];
    /** Returns rows as programs get them, the newest first. */
    load(filter: Filter<State, Kind>, installation: Installation): Promise<readonly Row[]>;
    /** Says what is wrong with rows; the exit code is 1 then. */
    complain?(rows: readonly Row[]): readonly string[];
  }>;

/** Returns the command that lists. */
export function readingOf<Row extends object, State extends string = never, Kind extends string = never>(
  reading: Reading<Row, State, Kind>,
): Command {
  const { name, summary, notes, by = [], states, kinds, shown, load, complain } = reading;
  return {
    ...{ name, summary, args: [], ...(notes && { notes }) },
    options: {
      ...Object.fromEntries(by.map((scope) => [scope, scopes[scope]])),
      ...(states && { state: { choices: states, help: 'only in this state' } }),
      ...(kinds && { kind: { choices: kinds, help: 'only of this kind' } }),
      limit,
    },
    async run(input, installation) {
      const rows = await load(await filterOf(input, installation), installation);
      const complaints = complain?.(rows) ?? [];
      const lines = rows.length === 0 ? ['none'] : listLines(rows, shown);
      return { json: rows, lines: [...lines, ...complaints], isBad: complaints.length > 0 };
    },
  };
}

/** Returns the filter that the options give. Its words were checked as choices already. */
async function filterOf<State extends string, Kind extends string>(
  input: Input,
  { database, config }: Installation,
): Promise<Filter<State, Kind>> {
  const [storeId, session, network] = ['store', 'session', 'network'].map((name) => textOption(input, name));
  const [state, kind] = [
    textOption(input, 'state') as State | undefined,
    textOption(input, 'kind') as Kind | undefined,
  ];
  return {
    ...(storeId !== undefined && { storeId }),
    ...(session !== undefined && { sessionId: (await findSession(database.sessions, session)).id }),
    ...(network !== undefined && { network: networkOf(config.networks, network).key }),
    ...(state && { state }),
    ...(kind && { kind }),
    limit: wholeOption(input, 'limit', 1, LISTED_MAX, LISTED),
  };
}
