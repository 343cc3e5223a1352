/**
 * Who is informed about alarms, and the open ones that nobody looks at yet. `notice-add.ts` adds somebody.
 */
import { severities } from '../../core/notice.ts';
import { isInformed, type NoticeTarget } from '../../database/notices.ts';
import { type Html, html } from '../../lib/html.ts';
import { changeFields, commonChange, type Planned } from '../change.ts';
import type { DashboardDeps, NoticeAnswer } from '../deps.ts';
import type { CommonPage, Reply, Visit } from '../page.ts';
import { badge, data, english, facts, faultMessage, table, time } from '../show.ts';
import type { Words } from '../texts.ts';
import { alarmTable } from './alarms.ts';

const PATH = '/operator/notices';

export const noticePages = (deps: DashboardDeps): readonly CommonPage[] => [
  { method: 'get', path: PATH, needs: 'installation:read', answer: (visit) => page(deps, visit, null) },
  ...(
    [
      ['prove', planProof],
      ['test', planTest],
      ['remove', planRemoval],
    ] as const
  ).map(([act, planOf]) =>
    commonChange(deps, {
      path: `${PATH}/:target/${act}`,
      needs: 'installation:manage',
      async plan(visit) {
        const target = (await deps.database.notices.listTargets()).find(({ id }) => id === visit.params.target);
        return target ? planOf(deps, visit, target) : null;
      },
    }),
  ),
];

async function page(deps: DashboardDeps, visit: Visit<null>, fault: string | null): Promise<Reply> {
  const { database } = deps;
  const { words } = visit;
  const targets = await database.notices.listTargets();
  const unseen = (await database.alarms.listOpen()).filter(({ acknowledgedAtMs }) => acknowledgedAtMs === null);
  return {
    title: words.say('frame.operator_notices'),
    status: fault === null ? 200 : 400,
    content: html`${faultMessage(fault)}
<section aria-labelledby="targets"><h2 id="targets">${words.say('notices.targets')}</h2>${targetTable(visit, targets)}
<p class="actions"><a class="button plain" href="${PATH}/add">${words.say('notice-add.title')}</a></p><p class="hint">${words.html('notices.add_hint')}</p></section>
<section aria-labelledby="unseen"><h2 id="unseen">${words.say('notices.unseen')}</h2>${await alarmTable(deps, visit, unseen)}</section>`,
  };
}

function targetTable(visit: Visit<null>, targets: readonly NoticeTarget[]): Html {
  const { words } = visit;
  if (targets.length === 0) return html`<p class="card">${words.say('notices.nobody')}</p>`;
  return table(
    words.say('notices.targets'),
    [
      words.say('general.name'),
      words.say('notices.by'),
      words.say('notices.severities'),
      words.say('general.state'),
      words.say('notices.last_message'),
      words.say('general.change'),
    ],
    targets.map((target) => [
      html`${data(target.name)} <code>${target.id}</code>`,
      html`<span class="word">${data(target.kind)}</span>`,
      target.kind === 'dead-man' ? words.say('notices.dead_man') : toldText(target),
      targetState(words, target),
      target.lastSentAtMs === null ? words.say('notices.none_yet') : time(target.lastSentAtMs),
      html`<div>${targetForms(visit, target)}</div>`,
    ]),
  );
}

/** Returns the severities that a target hears of. */
export const toldText = ({ severity }: Pick<NoticeTarget, 'severity'>): Html =>
  data(severities.slice(0, severities.indexOf(severity) + 1).join(', '));

function targetState(words: Words, { provedAtMs, failingSinceMs, lastError }: NoticeTarget): Html {
  if (provedAtMs === null) return badge(words.say('notices.waits_code'), 'attention');
  if (failingSinceMs !== null) {
    const since = words.html('notices.since', { time: time(failingSinceMs), error: english(lastError ?? '') });
    return html`${badge(words.say('notices.fails'), 'danger')} <span class="hint">${since}</span>`;
  }
  return badge(words.say('notices.proved'), 'good');
}

const targetForms = (visit: Visit<null>, { id, name, provedAtMs }: NoticeTarget): Html =>
  provedAtMs === null
    ? html`<form method="post" action="${PATH}/${id}/prove">${changeFields(visit)}<label>${visit.words.html('notices.code', { name })}
<input name="proof" inputmode="numeric" autocomplete="off" maxlength="12" dir="ltr" required></label><button>${visit.words.say('notices.prove')}</button></form>${actForm(visit, id, name, 'remove')}`
    : html`<div class="actions">${actForm(visit, id, name, 'test')}${actForm(visit, id, name, 'remove')}</div>`;

function actForm(visit: Visit<null>, id: string, name: string, act: 'test' | 'remove'): Html {
  const text = visit.words.say(act === 'remove' ? 'general.remove' : 'notices.test');
  return html`<form method="post" action="${PATH}/${id}/${act}">${changeFields(visit)}<button class="plain small" aria-label="${visit.words.say('general.act_on', { act: text, name })}">${text}</button></form>`;
}

async function planProof(deps: DashboardDeps, visit: Visit<null>, target: NoticeTarget): Promise<Planned> {
  const { words } = visit;
  const { name } = target;
  return {
    command: 'prove notice target',
    target: target.id,
    review: null,
    async act(database, act) {
      const proved = await database.notices.proveTarget(target.id, (visit.form.proof ?? '').trim(), act);
      if (proved === 'proved') return { to: PATH, said: words.say('notices.now_informed', { name }) };
      return proved === null ? null : page(deps, visit, words.say(`notices.${proved}`, { name }));
    },
  };
}

/** Sends outside of the database's turn: the service may take long to answer. */
async function planTest(deps: DashboardDeps, { words }: Visit<null>, target: NoticeTarget): Promise<Planned> {
  // A target that is not proved gets nothing but its code.
  const answer = target.provedAtMs === null ? null : await deps.sendTestNotice(target);
  return answer && { title: words.say('notices.test_of', { name: target.name }), content: answerFacts(words, answer) };
}

const answerFacts = (words: Words, { ok, status, text, ms }: NoticeAnswer): Html =>
  html`${facts([
    [
      words.say('webhooks.result'),
      ok ? badge(words.say('notices.taken'), 'good') : badge(words.say('notices.refused'), 'danger'),
    ],
    [words.say('notices.status'), status === null ? words.say('notices.no_answer') : String(status)],
    [words.say('webhooks.answer'), data(text)],
    [words.say('general.took'), data(`${ms} ms`)],
  ])}
<p class="hint">${words.html('notices.look_there', { back: html`<a href="${PATH}">${words.say('notices.back')}</a>` })}</p>`;

const othersThan = async ({ database }: DashboardDeps, target: NoticeTarget): Promise<number> =>
  (await database.notices.listTargets()).filter((one) => one.id !== target.id && isInformed(one)).length;

async function planRemoval(deps: DashboardDeps, { words }: Visit<null>, target: NoticeTarget): Promise<Planned> {
  const { name } = target;
  const others = await othersThan(deps, target);
  return {
    command: 'remove notice target',
    target: target.id,
    review: {
      title: words.say('notices.remove_title', { name }),
      consequence: html`${facts([
        [words.say('notices.by'), data(target.kind)],
        [words.say('notices.severities'), toldText(target)],
      ])}<p class="message attention">${
        others === 0 ? words.say('notices.last_one') : words.say('notices.others', { count: others })
      }</p>`,
      button: words.say('notices.remove_button'),
      back: PATH,
      // Whoever steals a session must not be able to silence what would report the theft.
      needsSudo: true,
    },
    async act(database, act) {
      const isRemoved = await database.notices.removeTarget(target.id, act);
      return isRemoved ? { to: PATH, said: words.say('notices.removed', { name }) } : null;
    },
  };
}
