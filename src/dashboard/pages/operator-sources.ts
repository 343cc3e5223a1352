/**
 * What the installation draws on, and what proves it: deposit address pools, exchange rates, backups and drills, the
 * books, and the comparison of final blocks with the database.
 */
import { isAllowed } from '../../core/access.ts';
import type { ProofState } from '../../database/audit-log.ts';
import { type Html, html } from '../../lib/html.ts';
import { changeFields, commonChange, type Planned } from '../change.ts';
import type { DashboardDeps } from '../deps.ts';
import type { CommonPage, Reply, Visit } from '../page.ts';
import { ago, badge, data, english, facts, table, time } from '../show.ts';
import type { Words } from '../texts.ts';

const PATH = '/operator/sources';

export const operatorSourcePages = (deps: DashboardDeps): readonly CommonPage[] => [
  {
    method: 'get',
    path: PATH,
    needs: 'installation:read',
    answer: async (visit): Promise<Reply> => ({
      title: visit.words.say('operator-sources.title'),
      content: html`<section aria-labelledby="pools"><h2 id="pools">${visit.words.say('operator-sources.pools')}</h2>${await poolTable(deps, visit)}</section>
<section aria-labelledby="rates"><h2 id="rates">${visit.words.say('operator-sources.rates')}</h2>${rateTable(deps, visit)}</section>
<section aria-labelledby="proofs"><h2 id="proofs">${visit.words.say('operator-sources.proofs')}</h2>${await proofs(deps, visit)}</section>`,
    }),
  },
  commonChange(deps, {
    path: `${PATH}/seed-drill`,
    needs: 'installation:manage',
    plan: async ({ words }) => planDrilled(words),
  }),
];

/** A drill on a clean machine leaves nothing here, so that whoever did it says so. */
const planDrilled = (words: Words): Planned => ({
  command: 'record seed drill',
  target: 'seed',
  review: {
    title: words.say('operator-sources.drilled_title'),
    consequence: html`<p>${words.html('operator-sources.drilled_text')}</p>`,
    button: words.say('operator-sources.drilled'),
    back: PATH,
    needsSudo: false,
  },
  async act(database, act) {
    await database.audit.vouchForProof('seed', act, 'on another machine');
    return { to: PATH, said: words.say('operator-sources.drilled_said') };
  },
});

async function poolTable(deps: DashboardDeps, { words }: Visit<null>): Promise<Html> {
  const pools = await deps.readPools();
  return html`${table(
    words.say('operator-sources.pools'),
    [
      words.say('operator-sources.pool'),
      words.say('operator-sources.from'),
      words.say('operator-sources.free'),
      words.say('operator-sources.given'),
      words.say('general.state'),
    ],
    pools.map(({ family, mode, imported, source, free, taken, isLow }) => [
      html`${data(family)}, ${words.say(`general.mode_${mode}`)}`,
      html`<span>${source === null ? words.say('operator-sources.nothing_yet') : html`<code>${source}</code>`} ${words.say(imported ? 'operator-sources.imported' : 'operator-sources.derived')}</span>`,
      String(free),
      String(taken),
      free === 0
        ? badge(words.say('operator-sources.empty'), 'danger')
        : isLow
          ? badge(words.say('general.low'), 'attention')
          : badge(words.say('operator-sources.enough'), 'good'),
    ]),
  )}<p class="hint">${words.html('operator-sources.pools_hint')}</p>`;
}

function rateTable({ readRates }: DashboardDeps, { nowMs, words }: Visit<null>): Html {
  const sources = readRates();
  if (sources.length === 0) return html`<p class="card">${words.say('operator-sources.no_source')}</p>`;
  return table(
    words.say('operator-sources.rates'),
    [
      words.say('operator-sources.source'),
      words.say('general.state'),
      words.say('operator-sources.pairs'),
      words.say('operator-sources.answered'),
      words.say('operator-sources.fault'),
    ],
    sources.map(({ source, fresh, pairs, answeredAtMs, fault }) => [
      data(source),
      fresh
        ? badge(words.say('operator-sources.fresh'), 'good')
        : badge(words.say('operator-sources.stale'), 'attention'),
      String(pairs),
      answeredAtMs === null ? words.say('general.never') : ago(words, answeredAtMs, nowMs),
      english(fault ?? ''),
    ]),
  );
}

/** Returns when a backup was last proved, with what to do if that was never or failed. */
export function lastProved({ readBackups }: DashboardDeps, { nowMs, words }: Visit<null>): Html {
  const { proved, failure } = readBackups();
  const when = proved
    ? words.html('operator-sources.proved', {
        time: time(proved.provedAtMs),
        ago: ago(words, proved.provedAtMs, nowMs),
        made: time(proved.madeAtMs),
      })
    : html`${badge(words.say('general.never'), 'attention')} <code>quayside backup --prove</code>`;
  return failure === null
    ? when
    : html`${when}. ${badge(words.say('operator-sources.last_failed'), 'danger')} ${english(failure)}`;
}

/** Says when something was last proved and by whom, and what failed since; amber where it never was. */
function provedText({ words, nowMs }: Visit<null>, { proved, failed }: ProofState, command: string): Html {
  const run = html` <code data-copy>${command}</code>`;
  const when = proved
    ? words.html('operator-sources.proved_by', {
        time: time(proved.atMs),
        ago: ago(words, proved.atMs, nowMs),
        person: proved.by,
        about: english(proved.about),
      })
    : html`${badge(words.say('operator-sources.never_proved'), 'attention')}${run}`;
  return failed === null
    ? when
    : html`${badge(words.say('operator-sources.last_failed'), 'danger')} ${time(failed.atMs)}: ${english(failed.about)}.${run}<br>${when}`;
}

async function proofs(deps: DashboardDeps, visit: Visit<null>): Promise<Html> {
  const { words, nowMs } = visit;
  const compared = new Map((await deps.database.blocks.listComparisons()).map((one) => [one.network, one]));
  const { books, seed } = await deps.database.audit.latestProofs();
  const { madeAtMs } = deps.readBackups();
  const made =
    madeAtMs === null
      ? html`${badge(words.say('general.never'), 'attention')} <code data-copy>quayside backup</code>`
      : html`${time(madeAtMs)}, ${ago(words, madeAtMs, nowMs)}`;
  const may = isAllowed(visit.visitor.person.memberships, { permission: 'installation:manage' });
  return html`<div class="card">${facts([
    [words.say('operator-sources.backup_made'), made],
    [words.say('operator-sources.restore_drill'), lastProved(deps, visit)],
    [words.say('operator-sources.seed_drill'), provedText(visit, seed, 'quayside-signer drill')],
    [words.say('operator-sources.books_check'), provedText(visit, books, 'quayside ledger verify')],
  ])}<p class="hint">${words.html('operator-sources.proofs_hint')}</p>
${
  may
    ? html`<div class="actions"><form method="post" action="${PATH}/seed-drill">${changeFields(visit)}<button class="plain">${words.say('operator-sources.drilled')}…</button></form></div>`
    : null
}</div>${table(
    words.say('operator-sources.comparisons'),
    [
      words.say('general.network'),
      words.say('general.state'),
      words.say('operator-sources.through'),
      words.say('operator-sources.compared'),
    ],
    deps.config.networks.map(({ key }) => {
      const one = compared.get(key);
      return [
        html`<a href="/operator/networks/${key}">${data(key)}</a>`,
        one === undefined
          ? badge(words.say('operator-sources.none_yet'), 'wait')
          : one.differs
            ? html`<span>${badge(words.say('operator-sources.differences'), 'danger')} ${english(one.message ?? '')}</span>`
            : badge(words.say('operator-sources.no_difference'), 'good'),
        one === undefined ? '–' : String(one.through),
        one === undefined ? '–' : time(one.comparedAtMs),
      ];
    }),
  )}`;
}
