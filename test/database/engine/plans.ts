/** Plans of statements: each finds its rows by an index, and none scans a table that grows. */
import { noteTexts } from '../../../src/database/engine/client.ts';
import { connect } from '../../../src/database/engine/connection.ts';

/** Tables with few rows, however long the program runs. */
const small = [
  'networks',
  'notice_targets',
  'other_transfers',
  'payout_engines',
  'payout_freezes',
  'stores',
  'pools',
  'leases',
  'meta',
  'sqlite_schema',
  'sqlite_master',
  'CONSTANT',
];
/** Inner results with their own limit. */
const bounded = ['sets', 'recent', 'looked', 'limited', 'parts', '(subquery-1)', '(subquery-2)'];
/** Indexes that hold only what an operator added, or rows in a temporary state: requested resends, and the like. */
const smallIndexes = [
  'endpoints_of_store',
  'endpoints_in_trouble',
  'refunds_ready',
  'deliveries_leased',
  'transfers_unconfirmed',
  'sessions_by_deadline',
];
/** Steps over deliveries that failed or are due: without a range, a statement would scan the whole backlog. */
const isBacklog = (detail: string) =>
  /deliveries_failures(?! \(event_id>\?\))|endpoints_due(?!_by_host| \(<expr>=\? AND due_at_ms<\?\))/.test(detail);

/** Returns the steps of each statement's plan. */
export function plansOf(file: string, statements: readonly string[]): Map<string, string[]> {
  const client = connect(file, 1_000, true);
  const plan = (text: string): string[] => {
    const names = [...new Set(text.match(/:\w+/g) ?? [])].map((name) => [name.slice(1), 1]);
    const holes = Array.from({ length: text.match(/\?/g)?.length ?? 0 }, () => 1);
    const steps = client.prepare(`EXPLAIN QUERY PLAN ${text}`).all(...holes, Object.fromEntries(names));
    return (steps as { detail: string }[]).map(({ detail }) => detail);
  };
  try {
    return new Map(statements.map((text) => [text, plan(text)]));
  } finally {
    client.close();
  }
}

/** The first rows of a table in the order of an index. */
const isFirst = (text: string, steps: readonly string[]) =>
  /\blimit (\?|:\w+|\d+)$/i.test(text) &&
  !/\bwhere\b/i.test(text) &&
  !steps.some((step) => step.startsWith('USE TEMP'));

/** Lists and counts that operators ask for, and what a rewind does. */
const rare = [
  /^select .* from "(refunds|payouts|keys|held_money|endpoints)"/i,
  /^select "id", "before_numbers" from "sessions"/i,
  /FROM deliveries (AS d JOIN events AS v|WHERE due_at_ms IS NOT NULL)/,
];

/** Texts whose plans this process has looked at. */
const seen = new Set<string>();

/** Runs what may scan, such as an audit. */
export async function mayScan(work: () => Promise<unknown>): Promise<void> {
  noteTexts(seen);
  await work();
}

/**
 * Notes the statements that the process runs from now on.
 * @returns the function that fails if one of them scans a table
 */
export function watchPlans(): (file: string) => void {
  const texts = new Set<string>();
  noteTexts(texts);
  return (file) => {
    const fresh = [...texts].filter((text) => !seen.has(text) && /^\s*(select|update|delete|with)\b/i.test(text));
    for (const text of fresh) seen.add(text);
    const scans = [...plansOf(file, fresh)].flatMap(([text, steps]) =>
      steps
        .filter((detail) => detail.startsWith('SCAN') || isBacklog(detail))
        .filter((detail) => ![...small, ...bounded].includes(detail.split(' ')[1] ?? ''))
        .filter((detail) => !smallIndexes.some((name) => detail.includes(name)))
        .filter(() => !isFirst(text, steps) && !rare.some((one) => one.test(text)))
        .map((detail) => `${detail}: ${text}`),
    );
    if (scans.length > 0) throw new Error(scans.join('\n'));
  };
}
