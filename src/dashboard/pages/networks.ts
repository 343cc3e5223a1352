/** Networks, for the operator: how far each is read, why one stops, and what to do. */
import { adviceOn } from '../../acts/networks.ts';
import { type NetworkStatus, staleSinceMs, unseenSinceMs, whyUnfollowed } from '../../database/networks.ts';
import { type Html, html } from '../../lib/html.ts';
import { list } from '../../web/list.ts';
import type { DashboardDeps } from '../deps.ts';
import type { Visit } from '../page.ts';
import { ago, badge, data, english, type Tone } from '../show.ts';

/** The list of networks, on the page of the installation. */
export const NETWORKS_PATH = '/operator#networks';

const tones: Readonly<Record<NetworkStatus['state'], Tone>> = {
  following: 'good',
  starting: 'wait',
  behind: 'attention',
  fault: 'attention',
  halted: 'danger',
};

/** Shows a number that a network's node has said, and how old it is where that says nothing about now. */
function figure({ words, nowMs }: Visit<null>, value: number | null | undefined, status: NetworkStatus | null): Html {
  if (value == null) return html`–`;
  const sinceMs = status && staleSinceMs(status, nowMs);
  if (sinceMs === null) return data(value.toLocaleString('en'));
  const asOf = sinceMs === 0 ? 'not read' : html`as of ${ago(words, sinceMs, nowMs)}`;
  return html`${data(value.toLocaleString('en'))} ${badge(asOf, 'attention')}`;
}

/** Returns the networks that show no payments now, and since when; 0: never. */
export async function unseenNetworks({ database, config }: DashboardDeps, nowMs: number) {
  const known = new Map((await database.networks.list()).map((status) => [status.network as string, status]));
  return config.networks.flatMap(({ key, title, mode }) => {
    const status = known.get(key);
    const sinceMs = status ? unseenSinceMs(status, nowMs) : 0;
    return sinceMs === null ? [] : [{ key, title, mode, sinceMs }];
  });
}

/** Lists how far each network is read, and what is wrong with it. */
export async function networksList({ database, config }: DashboardDeps, visit: Visit<null>): Promise<Html> {
  const { nowMs, words } = visit;
  const known = new Map((await database.networks.list()).map((status) => [status.network as string, status]));
  const rows = config.networks.map(async (network) => {
    const status = known.get(network.key) ?? null;
    const gaps = status ? await database.networks.listGaps(network.key) : [];
    const open = gaps.filter(({ closedAtMs }) => closedAtMs === null);
    return { network, status, gaps: open, why: whyUnfollowed(status, nowMs) };
  });
  return list({
    caption: 'Networks',
    columns: [
      [
        'Network',
        ({ network }) => html`${network.title} <code>${network.key}</code><small>${new URL(network.url).host}</small>`,
        'lead',
      ],
      [
        'State',
        ({ status, why }) =>
          !status || why?.code === 'indexer_silent'
            ? badge('silent', 'danger')
            : badge(status.state, tones[status.state]),
        'lead',
      ],
      // The head is reported once a second, and the cursor with every block.
      [
        'Head of the node',
        ({ status }) =>
          figure(visit, status?.headNumber && Math.max(status.headNumber, status.cursor?.number ?? 0), status),
        'number',
      ],
      ['Read to', ({ status }) => figure(visit, status?.cursor?.number, status), 'number'],
      ['Final to', ({ status }) => figure(visit, status?.floor, status), 'number'],
      [
        'Node heard',
        ({ status }) => (status && status.nodeHeardAtMs > 0 ? ago(words, status.nodeHeardAtMs, nowMs) : html`never`),
      ],
      [
        'Reason',
        ({ network, status, why, gaps }) =>
          why === null && gaps.length === 0
            ? '–'
            : html`${why && html`${english(`${why.message}. ${adviceOn(network.key, status) ?? `\`quayside show ${network.key}\` says what to do`}`)}.`}${gaps.map(({ from, to, because }) => html`<p class="hint">Skipped ${from} to ${to}: ${because}</p>`)}`,
      ],
    ],
    rows: await Promise.all(rows),
    empty: 'No network is configured.',
  });
}
