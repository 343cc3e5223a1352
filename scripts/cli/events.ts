/**
 * Lists events, exactly as endpoints get them.
 * @module
 */
import { modes } from '../../src/acts/keys.ts';
import { eventIdAt, eventTypes, typesNamed } from '../../src/core/event.ts';
import type { StoredEvent } from '../../src/database/events.ts';
import { type Command, choiceOption, moment, storeOf, storeOption, textOption, usage, wholeOption } from './command.ts';
import { readSince, sinceOption } from './since.ts';
import { table } from './table.ts';

const LISTED_MAX = 1_000;

export const eventsList: Command = {
  name: 'events list',
  args: [],
  summary: 'List the events of a store, newest first.',
  options: {
    store: storeOption,
    mode: { choices: modes, help: 'only events of this mode' },
    type: { value: 'TYPE', help: 'only events of this type, or of `payment.*` or `refund.*`' },
    since: sinceOption,
    limit: { value: 'N', help: `at most N events (50), up to ${LISTED_MAX}` },
  },
  async run(input, { database, clock }) {
    const { id: storeId } = await storeOf(input, database);
    const chosen = textOption(input, 'mode') === undefined ? modes : [choiceOption(input, 'mode', modes)];
    const name = textOption(input, 'type');
    const types = name === undefined ? undefined : typesNamed(name);
    if (types?.length === 0) throw usage(`--type is "${name}", expected ${eventTypes.join(', ')}, or payment.*`);
    const limit = wholeOption(input, 'limit', 1, LISTED_MAX, 50);
    const fromMs = readSince(input, clock.nowMs()) ?? 0;
    const range = { fromId: eventIdAt(Math.floor(fromMs / 1000)), beforeId: 'evt_:', first: 'newest' } as const;
    const lists = await Promise.all(
      chosen.map((mode) => database.listEvents({ storeId, mode, ...range, limit, ...(types && { types }) })),
    );
    const events = lists
      .flat()
      .sort((a, b) => (a.id < b.id ? 1 : -1))
      .slice(0, limit);
    const rows = events.map((one) => [one.id, moment(one.createdAtMs), one.mode, one.type, one.sessionId]);
    return { json: events.map(shown), lines: table([['EVENT', 'AT', 'MODE', 'TYPE', 'SESSION'], ...rows]) };
  },
};

const shown = ({ id, storeId, mode, type, sessionId, createdAtMs, body }: StoredEvent) => ({
  id,
  store: storeId,
  mode,
  type,
  session: sessionId,
  created_at: moment(createdAtMs),
  body,
});
