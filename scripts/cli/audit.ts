/**
 * Shows the audit log: what operators changed.
 */
import type { AuditEntry } from '../../src/database/audit-log.ts';
import type { AuditedState } from '../../src/database/column-values.ts';
import { type Command, moment, wholeOption } from './command.ts';
import { readSince, sinceOption } from './since.ts';
import { table } from './table.ts';

const LISTED_MAX = 10_000;

export const auditList: Command = {
  name: 'audit list',
  args: [],
  summary: 'List what operators changed: who, when, what and why; newest first.',
  options: {
    last: { value: 'N', help: `at most N entries (50), up to ${LISTED_MAX}` },
    since: sinceOption,
    before: { value: 'ID', help: 'only entries older than this one: the next page' },
  },
  async run(input, { database, clock }) {
    const count = wholeOption(input, 'last', 1, LISTED_MAX, 50);
    const sinceMs = readSince(input, clock.nowMs()) ?? 0;
    const beforeId = wholeOption(input, 'before', 1, Number.MAX_SAFE_INTEGER, 0);
    const entries = await database.audit.list(count, { sinceMs, ...(beforeId > 0 && { beforeId }) });
    const oldest = entries.at(-1);
    const rows = entries.map((entry) => [
      moment(entry.atMs),
      entry.operator,
      entry.command,
      entry.target,
      changeText(entry),
      entry.reason ?? '',
    ]);
    return {
      json: entries.map(({ atMs, ...entry }) => ({ ...entry, at: moment(atMs) })),
      lines: [
        ...table([['AT', 'OPERATOR', 'COMMAND', 'TARGET', 'CHANGE', 'REASON'], ...rows]),
        ...(oldest && entries.length === count ? [`for older entries: --before ${oldest.id}`] : []),
      ],
    };
  },
};

/** Returns each changed value as `name: before → after`. */
function changeText({ before, after }: Pick<AuditEntry, 'before' | 'after'>): string {
  const names = [...new Set([...Object.keys(before ?? {}), ...Object.keys(after ?? {})])];
  const text = (state: AuditedState, name: string) => String(state?.[name] ?? '-');
  return names
    .filter((name) => text(before, name) !== text(after, name))
    .map((name) => `${name}: ${text(before, name)} → ${text(after, name)}`)
    .join('; ');
}
