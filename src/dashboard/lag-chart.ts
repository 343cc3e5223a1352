/**
 * How far behind a network was read in the last day: a bar for each half hour, and the same as a table.
 */
import type { NetworkKey } from '../core/transfer.ts';
import { LAG_KEPT_MS, type NetworkLag } from '../database/network-lags.ts';
import { type Html, html } from '../lib/html.ts';
import { timeIn } from '../lib/zone.ts';
import { barChart } from './chart.ts';
import type { DashboardDeps } from './deps.ts';
import type { Visit } from './page.ts';
import { data, table, time } from './show.ts';
import type { Words } from './texts.ts';

const BAR_MS = 1_800_000;
const BARS = LAG_KEPT_MS / BAR_MS;

/** Shows the lag of a network; null before its first block was read. */
export async function lagChart(
  { database }: Pick<DashboardDeps, 'database'>,
  { nowMs, zone, words }: Pick<Visit<null>, 'nowMs' | 'zone' | 'words'>,
  network: NetworkKey,
): Promise<Html | null> {
  const lastMs = nowMs - (nowMs % BAR_MS);
  const starts = Array.from({ length: BARS }, (_, ago) => lastMs - (BARS - 1 - ago) * BAR_MS);
  const lags = await database.networks.listLags(network, starts[0] ?? lastMs);
  if (lags.length === 0) return null;
  const worst = starts.map((startMs) => ({ startMs, lagS: worstOf(lags, startMs) }));
  const text = (seconds: number): string => lagText(words, seconds);
  const numbers = table(
    words.say('lag-chart.title'),
    [words.say('lag-chart.from'), words.say('lag-chart.behind')],
    worst.map(({ startMs, lagS }) => [
      time(startMs),
      lagS === null ? words.say('lag-chart.no_report') : data(text(lagS)),
    ]),
    [1],
  );
  const bars = worst.map(({ startMs, lagS }) => ({
    label: timeIn(zone, startMs).slice(0, 16),
    size: lagS === null ? null : BigInt(lagS),
  }));
  return html`<section class="card" aria-labelledby="lag"><h2 id="lag">${words.say('lag-chart.title')}</h2>
<p class="hint">${words.say('lag-chart.hint')}</p>
${barChart(words, {
  title: words.say('lag-chart.title'),
  bars,
  text: (size) => text(Number(size)),
  unknown: words.say('lag-chart.no_report'),
  numbers,
})}</section>`;
}

/** Returns the worst lag of a bar, or null if nothing was reported. */
function worstOf(lags: readonly NetworkLag[], startMs: number): number | null {
  const inside = lags.filter(({ atMs }) => atMs >= startMs && atMs < startMs + BAR_MS);
  return inside.length === 0 ? null : Math.max(...inside.map(({ lagS }) => lagS));
}

const lagText = (words: Words, seconds: number): string =>
  seconds < 120
    ? words.say('lag-chart.seconds', { seconds })
    : words.say('lag-chart.minutes', { minutes: Math.round(seconds / 60) });
