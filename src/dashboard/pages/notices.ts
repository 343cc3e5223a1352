/**
 * Who is informed about alarms, and the open ones that nobody looks at yet. `notice-add.ts` adds somebody.
 * @module
 */
import { isSnoozed } from '../../database/alarms.ts';
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
      ['pause', planPause],
      ['resume', planResuming],
      ['remove', planRemoval],
    ] as const
  ).map(([act, planOf]) =>
    commonChange(deps, {
      path: `${PATH}/:target/${act}`,
      needs: 'installation:manage',
      async plan(visit) {
        const target = (await deps.database.listNoticeTargets()).find(({ id }) => id === visit.params.target);
        return target ? planOf(deps, visit, target) : null;
      },
    }),
  ),
];

async function page(deps: DashboardDeps, visit: Visit<null>, fault: string | null): Promise<Reply> {
  const { database } = deps;
  const { words } = visit;
  const targets = await database.listNoticeTargets();
  const open = await database.listOpenAlarms();
  const unseen = open.filter((one) => one.acknowledgedAtMs === null && !isSnoozed(one, visit.nowMs));
  return {
    title: words.say('frame.operator_notices'),
    status: fault === null ? 200 : 400,
    content: html`${faultMessage(fault)}${
      targets.some(isPaused) && !targets.some(isInformed)
        ? html`<p class="message attention">${words.say('notices.nobody_now')}</p>`
        : null
    }
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
      target.kind === 'dead-man' ? words.say('notices.dead_man') : toldText(words, target),
      targetState(words, target),
      target.lastSentAtMs === null ? words.say('notices.none_yet') : time(target.lastSentAtMs),
      html`<div>${targetForms(visit, target)}</div>`,
    ]),
  );
}

/** Returns what a target is told. */
export function toldText(words: Words, target: Pick<NoticeTarget, 'severities' | 'afterMinutes' | 'payments'>): Html {
  const severities = data(target.severities.join(', '));
  const { afterMinutes: minutes } = target;
  const alarms = minutes === 0 ? severities : words.html('notices.late', { severities, minutes });
  return target.payments ? words.html('notices.with_payments', { severities: alarms }) : alarms;
}

const isPaused = ({ pausedAtMs }: NoticeTarget): boolean => pausedAtMs !== null;

function targetState(words: Words, target: NoticeTarget): Html {
  const { provedAtMs, failingSinceMs, lastError, waiting, pausedAtMs, pausedBy } = target;
  const waits =
    waiting > 0 ? html` <span class="hint">${words.say('notices.to_send', { count: waiting })}</span>` : null;
  if (provedAtMs === null) return badge(words.say('notices.waits_code'), 'attention');
  if (pausedAtMs !== null) {
    const since = words.html('notices.paused_since', { time: time(pausedAtMs), person: pausedBy ?? '' });
    return html`<div>${badge(words.say('notices.paused'), 'attention')} <span class="hint">${since}</span>${waits}</div>`;
  }
  if (failingSinceMs !== null) {
    const since = words.html('notices.since', { time: time(failingSinceMs), error: english(lastError ?? '') });
    return html`${badge(words.say('notices.fails'), 'danger')} <span class="hint">${since}</span>`;
  }
  return html`${badge(words.say('notices.proved'), 'good')}${waits}`;
}

const targetForms = (visit: Visit<null>, { id, name, provedAtMs, pausedAtMs }: NoticeTarget): Html =>
  provedAtMs === null
    ? html`<form method="post" action="${PATH}/${id}/prove">${changeFields(visit)}<label>${visit.words.html('notices.code', { name })}
<input name="proof" inputmode="numeric" autocomplete="off" maxlength="12" dir="ltr" required></label><button>${visit.words.say('notices.prove')}</button></form>${actForm(visit, id, name, 'remove')}`
    : html`<div class="actions">${actForm(visit, id, name, 'test')}${actForm(visit, id, name, pausedAtMs === null ? 'pause' : 'resume')}${actForm(visit, id, name, 'remove')}</div>`;

function actForm(visit: Visit<null>, id: string, name: string, act: 'test' | 'pause' | 'resume' | 'remove'): Html {
  const text = visit.words.say(act === 'remove' ? 'general.remove' : `notices.${act}`);
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
      const proved = await database.proveNoticeTarget(target.id, (visit.form.proof ?? '').trim(), act);
      if (proved === 'proved') return { to: PATH, said: words.say('notices.now_informed', { name }) };
      return proved === null ? null : page(deps, visit, words.say(`notices.${proved}`, { name }));
    },
  };
}

/** Sends outside of the database's turn: the service may take long to answer. */
async function planTest(deps: DashboardDeps, { words }: Visit<null>, target: NoticeTarget): Promise<Planned> {
  // A target that is not proved gets nothing but its code.
  const answers = target.provedAtMs === null ? null : await deps.sendTestNotices(target);
  return (
    answers && { title: words.say('notices.test_of', { name: target.name }), content: answerTable(words, answers) }
  );
}

const answerTable = (words: Words, answers: readonly NoticeAnswer[]): Html =>
  html`${table(
    words.say('notices.answers'),
    [
      words.say('notices.severity'),
      words.say('webhooks.result'),
      words.say('requests.status'),
      words.say('webhooks.answer'),
      words.say('general.took'),
    ],
    answers.map(({ severity, ok, status, text, ms }) => [
      data(severity),
      ok ? badge(words.say('notices.taken'), 'good') : badge(words.say('notices.refused'), 'danger'),
      status === null ? words.say('notices.no_answer') : String(status),
      data(text),
      data(`${ms} ms`),
    ]),
  )}
<p class="hint">${words.html('notices.look_there', { back: html`<a href="${PATH}">${words.say('notices.back')}</a>` })}</p>`;

const othersThan = async ({ database }: DashboardDeps, target: NoticeTarget): Promise<number> =>
  (await database.listNoticeTargets()).filter((one) => one.id !== target.id && isInformed(one)).length;

async function planPause(deps: DashboardDeps, { words }: Visit<null>, target: NoticeTarget): Promise<Planned> {
  const { id, name, kind } = target;
  const others = await othersThan(deps, target);
  const left = others === 0 ? words.say('notices.pause_last') : words.say('notices.pause_others', { count: others });
  return {
    command: 'pause notice target',
    target: id,
    review: {
      title: words.say('notices.pause_title', { name }),
      consequence: html`<p>${words.say('notices.pause_text')}</p><p class="message attention">${
        kind === 'dead-man' ? words.say('notices.pause_dead_man') : left
      }</p>`,
      button: words.say('notices.pause_button'),
      back: PATH,
      // As for removing one.
      needsSudo: true,
    },
    async act(database, act) {
      const done = await database.pauseNoticeTarget(id, act);
      return done && { to: PATH, said: words.say('notices.is_paused', { name }) };
    },
  };
}

async function planResuming(_: DashboardDeps, { words }: Visit<null>, { id, name }: NoticeTarget): Promise<Planned> {
  return {
    command: 'resume notice target',
    target: id,
    review: null,
    async act(database, act) {
      const done = await database.resumeNoticeTarget(id, act);
      return done && { to: PATH, said: words.say('notices.is_resumed', { name }) };
    },
  };
}

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
        [words.say('notices.severities'), data(target.severities.join(', '))],
        [words.say('notices.still'), String(target.waiting)],
      ])}<p class="message attention">${
        others === 0 ? words.say('notices.last_one') : words.say('notices.others', { count: others })
      }</p>`,
      button: words.say('notices.remove_button'),
      back: PATH,
      // Whoever steals a session must not be able to silence what would report the theft.
      needsSudo: true,
    },
    async act(database, act) {
      const isRemoved = await database.removeNoticeTarget(target.id, act);
      return isRemoved ? { to: PATH, said: words.say('notices.removed', { name }) } : null;
    },
  };
}
