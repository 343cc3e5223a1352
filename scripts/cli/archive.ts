/**
 * Archives and removes old data, and shows what is archived.
 * @module
 */
import { daysOf, openRetention, runRetention } from '../../src/app/retention.ts';
import type { Database } from '../../src/database/database.ts';
import {
  type ArchivedSession,
  type RetentionDone,
  type RetentionKind,
  retentionKinds,
} from '../../src/database/retention.ts';
import { parseSessionId } from '../../src/lib/session-id.ts';
import { becauseOption, type Command, dryRunOption, moment, notFound, operatorAct, table } from './command.ts';
import { namesOf } from './explain-address.ts';
import { openProgressLine } from './progress.ts';
import { sessionShow } from './session.ts';

const MIB = 2 ** 20;
const count = (n: number): string => n.toLocaleString('en-US');

const texts: Readonly<Record<RetentionKind, Readonly<{ done: string; setting: string }>>> = {
  anonymised: { done: 'sessions without what their merchants sent about payers', setting: 'anonymise_days' },
  anonymised_archived: { done: 'the same of archived sessions', setting: 'anonymise_days' },
  archived: { done: 'never-paid sessions archived', setting: 'archive_days' },
  attempts: { done: 'answers of merchants’ servers removed', setting: 'attempts_days' },
  endpoints: { done: 'webhook URLs of single sessions removed', setting: 'endpoints_days' },
};

export const archive: Command = {
  name: 'archive',
  args: [],
  summary: 'Archive never-paid sessions and remove old data now, as the settings `retention` say for every night.',
  options: { 'dry-run': dryRunOption, because: becauseOption },
  notes: [
    'Archived sessions are answered, found and paid as before: `quayside archive find`. What is removed cannot be',
    'restored except from a backup. It can be interrupted, and run beside everything else.',
  ],
  async run(input, { config, database, clock }) {
    const isDryRun = input.options['dry-run'] === true;
    const progress = openProgressLine(process.stderr);
    const retention = openRetention(config, input.env);
    try {
      const onProgress = (kind: RetentionKind, done: number) => progress.show(`${texts[kind].done}: ${count(done)}`);
      const done = await runRetention({ config, database: retention, clock, isDryRun, onProgress });
      const change = { target: config.dataDir, before: null, after: done };
      if (!isDryRun) await database.recordAct(operatorAct(archive, input, clock), change);
      return {
        json: { dry_run: isDryRun, ...done },
        lines: [...(isDryRun ? ['This would be done:'] : []), ...doneLines(done, daysOf(config))],
      };
    } finally {
      progress.end();
      retention.close();
    }
  },
};

function doneLines(done: RetentionDone, days: ReturnType<typeof daysOf>): string[] {
  return table(
    retentionKinds.map((kind) => {
      const kept = days[kind];
      const after = kept === null ? 'never' : `after ${kept} days`;
      return [count(done[kind]), texts[kind].done, `${after} (retention.${texts[kind].setting})`];
    }),
  );
}

export const archiveShow: Command = {
  name: 'archive show',
  args: [],
  summary: 'Show how many sessions are archived, since when, and what was done last.',
  options: {},
  async run(_input, { config, database }) {
    const summary = await database.archiveSummary();
    const { sessions, bytes, firstEndedAtS, lastEndedAtS, withPayerData, lastRun } = summary;
    const time = (s: number | null) => moment(s === null ? null : s * 1000);
    return {
      json: {
        ...{ sessions, bytes, with_payer_data: withPayerData },
        ...{ first_ended_at: time(firstEndedAtS), last_ended_at: time(lastEndedAtS) },
        last_run: lastRun && { at: moment(lastRun.atMs), ...lastRun.done },
      },
      lines: [
        ...table([
          ['archived sessions', count(sessions)],
          ['with payer data', count(withPayerData)],
          ['content', `${(bytes / MIB).toFixed(1)} MiB`],
          ['ended', sessions === 0 ? '-' : `${time(firstEndedAtS)} to ${time(lastEndedAtS)}`],
          ['last run', lastRun === null ? 'never' : moment(lastRun.atMs)],
        ]),
        ...(lastRun === null ? [] : ['', ...doneLines(lastRun.done, daysOf(config))]),
      ],
    };
  },
};

export const archiveFind: Command = {
  name: 'archive find',
  args: ['session|order|address'],
  summary: 'Show an archived session, by its id, its order or its address.',
  options: {},
  async run(input, installation) {
    const { database } = installation;
    const text = (input.args[0] ?? '').trim();
    const found = (await Promise.all((await idsNamed(database, text)).map((id) => database.findArchived(id)))).flatMap(
      (one) => one ?? [],
    );
    if (found.length === 0) {
      throw notFound(`no archived session has "${text}"; \`quayside explain ${text}\` looks for it everywhere`);
    }
    const shown = await Promise.all(found.map((one) => showOne(one, installation, input)));
    return { json: shown.map(({ json }) => json), lines: shown.flatMap(({ lines }) => [...lines, '']).slice(0, -1) };
  },
};

/** Returns the sessions that a text may name. */
async function idsNamed(database: Database, text: string): Promise<string[]> {
  const id = parseSessionId(text);
  const owners = await Promise.all(namesOf(text).map(({ family, key }) => database.findAddresses(family, key)));
  const byAddress = owners.flat().flatMap(({ sessionId }) => sessionId ?? []);
  return [...new Set([...(id ? [id] : []), ...(await database.sessionsOfOrder(text)), ...byAddress])];
}

async function showOne(
  { id, archivedAtMs, hasPayerData }: ArchivedSession,
  installation: Parameters<Command['run']>[1],
  input: Parameters<Command['run']>[0],
) {
  const { json, lines } = await sessionShow.run({ ...input, args: [id] }, installation);
  const about = hasPayerData ? '' : '; what its merchant sent about the payer was removed';
  return {
    json: { archived_at: moment(archivedAtMs), has_payer_data: hasPayerData, session: json },
    lines: [`archived ${moment(archivedAtMs)}: it ended without a payment${about}`, ...lines],
  };
}
