/**
 * The operator's pages: what needs somebody, networks, and who may use the dashboard.
 */
import type { SessionStatus } from '../../core/event.ts';
import type { NetworkStatus } from '../../database/database.ts';
import { isSilent, staleSinceMs, unseenSinceMs, whyUnfollowed } from '../../database/network-health.ts';
import { isInformed } from '../../database/notices.ts';
import type { MerchantStore } from '../../database/stores.ts';
import { type Html, html } from '../../lib/html.ts';
import type { DashboardDeps } from '../deps.ts';
import type { CommonPage, Reply, Visit } from '../page.ts';
import { ago, badge, data, english, facts, type Tone, table, time } from '../show.ts';
import type { TextKey, Words } from '../texts.ts';
import { rolesText } from './account.ts';
import { alarmTable } from './alarms.ts';
import { lastProved } from './operator-sources.ts';

export const operatorPages = (deps: DashboardDeps): readonly CommonPage[] => {
  const page = (path: string, title: TextKey, content: (visit: Visit<null>) => Promise<Html>): CommonPage => ({
    method: 'get',
    path,
    needs: 'installation:read',
    answer: async (visit): Promise<Reply> => ({ title: visit.words.say(title), content: await content(visit) }),
  });
  return [
    page('/operator', 'frame.operator_overview', (visit) => overview(deps, visit)),
    page(
      '/operator/networks',
      'frame.operator_networks',
      async (visit) => html`${networksTable(deps, await reports(deps), visit)}${unusedNetworks(deps, visit)}`,
    ),
    page('/operator/people', 'frame.operator_people', (visit) => peopleTable(deps, visit)),
  ];
};

const reports = async ({ database }: DashboardDeps): Promise<ReadonlyMap<string, NetworkStatus>> =>
  new Map((await database.networks.list()).map((status) => [status.network, status]));

async function overview(deps: DashboardDeps, visit: Visit<null>): Promise<Html> {
  const { database } = deps;
  const { words, nowMs } = visit;
  const open = await database.alarms.listOpen();
  const missing = await missingGuards(deps, visit);
  const stopped = await stoppedNetworks(deps, visit);
  const { sessions, deliveriesWaiting, oldestWaitingMs, heldOpen } = await database.reports.stats(nowMs);
  const stores = await database.stores.list();
  const toApprove = stores.filter(({ status, refusal }) => status === 'pending' && !refusal).length;
  const waits =
    deliveriesWaiting === 0
      ? words.say('general.none')
      : words.say('operator.oldest', { count: deliveriesWaiting, seconds: Math.floor(oldestWaitingMs / 1000) });
  return html`<section class="card" aria-labelledby="needs"><h2 id="needs">${words.say('operator.needs')}</h2>
${toApprove > 0 ? html`<p>${badge(words.say('operator.to_approve', { count: toApprove }), 'attention')} <a href="/operator/stores">${words.say('operator.stores_wait')}</a></p>` : null}
${stopped.map((line) => html`<p>${badge(words.say('operator.stopped'), 'danger')} ${line}</p>`)}
${open.length > 0 ? await alarmTable(deps, visit, open) : missing.length + stopped.length > 0 ? null : html`<p>${badge(words.say('operator.no_alarm'), 'good')}</p>`}
${missing.map(([what, mend]) => html`<p>${badge(words.say(what), 'attention')} ${mend}</p>`)}
${noStore(visit, stores)}</section>
<section class="card" aria-labelledby="networks"><h2 id="networks">${words.say('frame.operator_networks')}</h2>${networksTable(deps, await reports(deps), visit)}</section>
<section class="card" aria-labelledby="numbers"><h2 id="numbers">${words.say('operator.numbers')}</h2>${facts([
    [words.say('frame.operator_stores'), String(stores.length)],
    ...(Object.entries(sessions) as [SessionStatus, number][]).map(
      ([status, count]) =>
        [words.say('operator.sessions_of', { status: words.say(`general.status_${status}`) }), String(count)] as const,
    ),
    [words.say('operator.webhooks_waiting'), waits],
    [words.say('operator.held_open'), String(heldOpen)],
    [words.say('operator.backup'), lastProved(deps, visit)],
  ])}</section>`;
}

/** Says which networks are not read, how old what is known of them is, and what to do. */
async function stoppedNetworks(deps: DashboardDeps, { nowMs, words }: Visit<null>): Promise<readonly Html[]> {
  const known = await reports(deps);
  return deps.config.networks.flatMap(({ key, title }) => {
    const status = known.get(key);
    const network = html`<a href="/operator/networks/${key}">${title}</a>`;
    const command = html`<code>quayside network check ${key}</code>`;
    const sinceMs = status ? unseenSinceMs(status, nowMs) : 0;
    if (sinceMs === null) return [];
    if (!status || sinceMs === 0) return [words.html('operator.never_read', { network, command })];
    const read = { network, time: time(sinceMs) };
    return isSilent(status, nowMs)
      ? [words.html('operator.indexer_silent', { ...read, ago: ago(words, status.updatedAtMs, nowMs) })]
      : [words.html('operator.node_silent', { ...read, command, ago: heardAgo(words, status, nowMs) })];
  });
}

/** Says how long ago a network's node was last heard. */
export const heardAgo = (
  words: Words,
  status: Pick<NetworkStatus, 'nodeHeardAtMs'> | null | undefined,
  nowMs: number,
) =>
  status && status.nodeHeardAtMs > 0 ? ago(words, status.nodeHeardAtMs, nowMs) : html`${words.say('general.never')}`;

/** Shows a number that a network's node has said, and how old it is where that says nothing about now. */
export function figure(words: Words, value: number | null | undefined, status: NetworkStatus | null, nowMs: number) {
  if (value == null) return html`–`;
  const sinceMs = status && staleSinceMs(status, nowMs);
  if (sinceMs === null) return data(value);
  const asOf =
    sinceMs === 0 ? words.say('operator.stopped') : words.html('operator.as_of', { ago: ago(words, sinceMs, nowMs) });
  return html`<span>${data(value)} ${badge(asOf, 'attention')}</span>`;
}

/** What keeps trouble from being noticed or mended, and how to get it. */
async function missingGuards(
  { database, readBackups }: DashboardDeps,
  { words }: Visit<null>,
): Promise<readonly (readonly [TextKey, Html])[]> {
  const isTold = (await database.notices.listTargets()).some(isInformed);
  const mendBackup = words.html('operator.no_backup_next', {
    command: html`<code>quayside backup --prove</code>`,
    page: html`<a href="/operator/sources">${words.say('frame.operator_sources')}</a>`,
  });
  const mendNotice = words.html('operator.no_notice_next', {
    command: html`<code>quayside notify add</code>`,
    page: html`<a href="/operator/notices/add">${words.say('operator.add_notice')}</a>`,
  });
  return [
    ...(readBackups().proved === null ? [['operator.no_backup', mendBackup] as const] : []),
    ...(isTold ? [] : [['operator.no_notice', mendNotice] as const]),
  ];
}

/** Says to an operator who is a member of no store how to see payments. */
function noStore({ visitor: { person }, words }: Visit<null>, stores: readonly MerchantStore[]): Html | null {
  if (person.memberships.some(({ storeId }) => storeId !== null)) return null;
  const name = person.name.includes(' ') ? `"${person.name}"` : person.name;
  const [first, ...others] = stores;
  const store = others.length === 0 ? '' : ` --store ${first?.id ?? ''}`;
  const next = first
    ? words.html('operator.no_store_next', {
        command: html`<code>quayside user link ${name} --role owner${store}</code>`,
      })
    : html`<a href="/stores/new">${words.say('operator.make_store')}</a>`;
  return html`<p>${words.say('operator.no_store')} ${next}</p>`;
}

const networkTones: Readonly<Record<NetworkStatus['state'], Tone>> = {
  following: 'good',
  starting: 'wait',
  behind: 'attention',
  fault: 'attention',
  halted: 'danger',
};

/** Shows the state of a network that is read. */
export const networkState = (words: Words, { state }: Pick<NetworkStatus, 'state'>): Html =>
  badge(words.say(`general.network_${state}`), networkTones[state]);

function networksTable(
  { config }: DashboardDeps,
  known: ReadonlyMap<string, NetworkStatus>,
  { nowMs, words }: Visit<null>,
): Html {
  return table(
    words.say('frame.operator_networks'),
    [
      words.say('general.network'),
      words.say('general.state'),
      words.say('operator.read_to'),
      words.say('operator.head'),
      words.say('operator.behind'),
      words.say('operator.heard'),
      words.say('general.reason'),
    ],
    config.networks.map(({ key }) => {
      const status = known.get(key);
      const why = whyUnfollowed(status ?? null, nowMs);
      const isUnheard = !status || why?.code === 'indexer_silent';
      const [at, head] = [status?.cursor?.number ?? null, status?.headNumber ?? null];
      return [
        html`<a href="/operator/networks/${key}">${data(key)}</a>`,
        isUnheard ? badge(words.say('operator.silent'), 'danger') : networkState(words, status),
        figure(words, at, status ?? null, nowMs),
        figure(words, head, status ?? null, nowMs),
        at === null || head === null || !status || staleSinceMs(status, nowMs) !== null
          ? '–'
          : words.say('operator.blocks', { count: Math.max(0, head - at) }),
        heardAgo(words, status, nowMs),
        why ? html`${english(why.message)}. <code>quayside show ${key}</code>` : '',
      ];
    }),
  );
}

/** Networks that could be added, with the line that does. */
function unusedNetworks({ readSettings }: DashboardDeps, { words }: Visit<null>): Html | null {
  const { file, isShipped, unused } = readSettings();
  if (unused.length === 0) return null;
  const intro = words.html(isShipped ? 'operator.unused_intro_sandbox' : 'operator.unused_intro', {
    file: html`<code>${file}</code>`,
  });
  return html`<section aria-labelledby="unused"><h2 id="unused">${words.say('operator.unused')}</h2><p class="card">${intro}</p>
${table(
  words.say('operator.unused'),
  [words.say('general.network'), words.say('operator.mode'), words.say('operator.to_add')],
  unused.map(({ name, title, mode, line, into }) => [
    html`<span>${data(title)} <code>${name}</code></span>`,
    words.say(mode === 'live' ? 'general.mode_live' : 'general.mode_test'),
    into === ''
      ? html`<code data-copy>${line}</code>`
      : html`<span>${words.html('operator-settings.in_file', { line: html`<code data-copy>${line}</code>`, place: html`<code>${into}</code>` })}</span>`,
  ]),
)}</section>`;
}

async function peopleTable({ database }: DashboardDeps, { words }: Visit<null>): Promise<Html> {
  const people = await database.people.list();
  const stores = new Map((await database.stores.list()).map(({ id, name }) => [id, name]));
  return html`${table(
    words.say('frame.operator_people'),
    [words.say('general.name'), words.say('operator.roles'), words.say('general.created'), words.say('general.state')],
    people.map(({ name, memberships, createdAtMs, removedAtMs, isReady }) => [
      data(name),
      rolesText(words, memberships, (id) => stores.get(id) ?? id),
      time(createdAtMs),
      removedAtMs === null
        ? isReady
          ? badge(words.say('operator.ready'), 'good')
          : badge(words.say('team.unused'), 'wait')
        : badge(words.say('operator.removed'), 'wait'),
    ]),
  )}
<p class="hint">${words.html('operator.people_hint')}</p>`;
}
