/**
 * Who is informed about alarms, and the open ones that nobody looks at yet. Targets are added with the `quayside`
 * command, which reads their secrets from a file.
 * @module
 */
import type { NoticeTarget } from '../../database/notices.ts';
import { type Html, html } from '../../lib/html.ts';
import { changeFields, commonChange, type Planned } from '../change.ts';
import type { DashboardDeps, NoticeAnswer } from '../deps.ts';
import type { CommonPage, Reply, Visit } from '../page.ts';
import { badge, facts, faultMessage, table, time } from '../show.ts';
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
        const target = (await deps.database.listNoticeTargets()).find(({ id }) => id === visit.params.target);
        return target ? planOf(deps, visit, target) : null;
      },
    }),
  ),
];

async function page({ database }: DashboardDeps, visit: Visit<null>, fault: string | null): Promise<Reply> {
  const targets = await database.listNoticeTargets();
  const unseen = (await database.listOpenAlarms()).filter(({ acknowledgedAtMs }) => acknowledgedAtMs === null);
  return {
    title: 'Notices',
    status: fault === null ? 200 : 400,
    content: html`${faultMessage(fault)}
<section aria-labelledby="targets"><h2 id="targets">Who is informed about alarms</h2>${targetTable(visit, targets)}
<p class="hint"><code>quayside notify add --help</code> says how somebody is added: tokens and addresses are read from a file.</p></section>
<section aria-labelledby="unseen"><h2 id="unseen">Open alarms that nobody looks at</h2>${alarmTable(visit, unseen)}</section>`,
  };
}

function targetTable(visit: Visit<null>, targets: readonly NoticeTarget[]): Html {
  if (targets.length === 0)
    return html`<p class="card">Nobody is informed: an alarm is seen by whoever looks here.</p>`;
  return table(
    'Who is informed',
    ['Name', 'By', 'Severities', 'State', 'Last message', 'Change'],
    targets.map((target) => [
      html`${target.name} <code>${target.id}</code>`,
      target.kind,
      target.kind === 'dead-man' ? 'called while all is well' : alarmsFor(target),
      targetState(target),
      target.lastSentAtMs === null ? 'none yet' : time(target.lastSentAtMs),
      html`<div>${targetForms(visit, target)}</div>`,
    ]),
  );
}

const alarmsFor = ({ severities, afterMinutes }: NoticeTarget): string =>
  `${severities.join(', ')}${afterMinutes === 0 ? '' : `, unacknowledged for ${afterMinutes} min`}`;

function targetState({ provedAtMs, failingSinceMs, lastError, waiting }: NoticeTarget): Html {
  if (provedAtMs === null) return badge('waits for its code', 'attention');
  if (failingSinceMs !== null) {
    return html`${badge('fails', 'danger')} <span class="hint">since ${time(failingSinceMs)}: ${lastError}</span>`;
  }
  return html`${badge('proved', 'good')}${waiting > 0 ? html` <span class="hint">${waiting} to be sent</span>` : null}`;
}

const targetForms = (visit: Visit<null>, { id, name, provedAtMs }: NoticeTarget): Html =>
  provedAtMs === null
    ? html`<form method="post" action="${PATH}/${id}/prove">${changeFields(visit)}<label>Code that arrived at ${name}
<input name="proof" inputmode="numeric" autocomplete="off" maxlength="12" required></label><button>Prove</button></form>${removal(visit, id, name)}`
    : html`<form method="post" action="${PATH}/${id}/test">${changeFields(visit)}<button class="plain" aria-label="Test ${name}">Test</button></form>${removal(visit, id, name)}`;

const removal = (visit: Visit<null>, id: string, name: string): Html =>
  html`<form method="post" action="${PATH}/${id}/remove">${changeFields(visit)}<button class="plain" aria-label="Remove ${name}">Remove</button></form>`;

async function planProof(deps: DashboardDeps, visit: Visit<null>, target: NoticeTarget): Promise<Planned> {
  return {
    command: 'prove notice target',
    target: target.id,
    review: null,
    async act(database, act) {
      const proved = await database.proveNoticeTarget(target.id, (visit.form.proof ?? '').trim(), act);
      if (proved === 'proved') return { to: PATH, said: `${target.name} is informed about alarms from now on.` };
      const fault = {
        wrong: `That is not the code that was sent to ${target.name}. Look again.`,
        too_many: `Too many wrong codes: remove ${target.name}, and add it again.`,
      };
      return proved === null ? null : page(deps, visit, fault[proved]);
    },
  };
}

async function planTest(deps: DashboardDeps, _visit: Visit<null>, target: NoticeTarget): Promise<Planned> {
  return {
    command: 'test notice target',
    target: target.id,
    review: null,
    async act() {
      // A target that is not proved gets nothing but its code.
      if (target.provedAtMs === null) return null;
      const answers = await deps.sendTestNotices(target);
      return answers === null ? null : { title: `Test of ${target.name}`, content: answerTable(answers) };
    },
  };
}

const answerTable = (answers: readonly NoticeAnswer[]): Html =>
  html`${table(
    'Answers of the service',
    ['Severity', 'Result', 'Status', 'Answer', 'Time'],
    answers.map(({ severity, ok, status, text, ms }) => [
      severity,
      ok ? badge('taken', 'good') : badge('refused', 'danger'),
      status === null ? 'no answer' : String(status),
      text,
      `${ms} ms`,
    ]),
  )}
<p class="hint">Look at the place where they should arrive, then go <a href="${PATH}">back to the notices</a>.</p>`;

async function planRemoval({ database }: DashboardDeps, _visit: Visit<null>, target: NoticeTarget): Promise<Planned> {
  const others = (await database.listNoticeTargets()).filter(
    ({ id, kind, provedAtMs }) => id !== target.id && kind !== 'dead-man' && provedAtMs !== null,
  );
  return {
    command: 'remove notice target',
    target: target.id,
    review: {
      title: `Remove ${target.name}?`,
      consequence: html`${facts([
        ['By', target.kind],
        ['Severities', target.severities.join(', ')],
        ['Still to be sent', String(target.waiting)],
      ])}<p class="message attention">${
        others.length === 0
          ? 'Nobody else is informed: after this an alarm is seen by whoever looks here.'
          : `${others.length} others are informed.`
      } Its secrets are forgotten.</p>`,
      button: 'Remove it',
      back: PATH,
      // Whoever steals a session must not be able to silence what would report the theft.
      needsSudo: true,
    },
    async act(database, act) {
      const isRemoved = await database.removeNoticeTarget(target.id, act);
      return isRemoved ? { to: PATH, said: `${target.name} was removed.` } : null;
    },
  };
}
