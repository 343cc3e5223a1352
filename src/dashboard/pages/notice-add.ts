/**
 * Adding somebody who is informed about alarms: how, where, and which. A code is sent there, and the page of
 * notices asks for it.
 */
import { type Severity, severities } from '../../core/notice.ts';
import {
  type ChannelKind,
  channelKinds,
  type NewNoticeTarget,
  TARGET_NAME_CHARS_MAX,
  TARGETS_MAX,
  type TargetField,
} from '../../database/notices.ts';
import { type Html, html } from '../../lib/html.ts';
import { changeFields, commonChange, type Planned } from '../change.ts';
import type { DashboardDeps } from '../deps.ts';
import type { CommonPage, Reply, Visit } from '../page.ts';
import { copyCode, data, english, facts, faultMessage } from '../show.ts';
import type { Words } from '../texts.ts';
import { toldText } from './notices.ts';

const LIST = '/operator/notices';
const PATH = `${LIST}/add`;
const FIELD_CHARS_MAX = 2_048;

/** The fields of each kind, in the order of its form. */
const fieldsOf: Readonly<Record<ChannelKind, readonly TargetField[]>> = {
  email: ['to', 'from', 'smtp', 'user', 'secret'],
  telegram: ['secret', 'to', 'server'],
  ntfy: ['secret', 'token', 'server'],
  slack: ['secret'],
  discord: ['secret'],
  webhook: ['secret'],
  'dead-man': ['secret'],
};

const examples: Readonly<Partial<Record<TargetField, string>>> = {
  to: '-1001234567890',
  smtp: 'smtps://mail.example:465',
  server: 'https://ntfy.example',
};

export const noticeAddPages = (deps: DashboardDeps): readonly CommonPage[] => [
  {
    method: 'get',
    path: PATH,
    needs: 'installation:manage',
    async answer(visit) {
      const kind = kindOf(visit.query.get('kind'));
      return kind ? formPage(visit, kind, null) : choicePage(visit.words);
    },
  },
  commonChange(deps, { path: PATH, needs: 'installation:manage', plan: (visit) => planTarget(deps, visit) }),
];

const kindOf = (text: string | null | undefined): ChannelKind | undefined => channelKinds.find((one) => one === text);

/** Leads to the form of each kind. */
const choicePage = (words: Words): Reply => ({
  title: words.say('notice-add.title'),
  content: html`<section class="card" aria-labelledby="how"><h2 id="how">${words.say('notice-add.how')}</h2>
<ul>${channelKinds.map((kind) => html`<li><a href="${PATH}?kind=${kind}">${words.say(`notice-add.kind_${kind}`)}</a></li>`)}</ul></section>`,
});

const labelOf = (words: Words, kind: ChannelKind, field: TargetField): string => {
  if (field === 'secret') return words.say(`notice-add.secret_${kind}`);
  if (field === 'to') return words.say(kind === 'email' ? 'notice-add.to_email' : 'notice-add.to_telegram');
  return words.say(`notice-add.${field}`);
};

function formPage(visit: Visit<null>, kind: ChannelKind, fault: Html | string | null): Reply {
  const { form, words } = visit;
  const chosen = severityOf(form);
  const which = html`<fieldset><legend>${words.say('notice-add.severities')}</legend>${severities.map(
    (one) =>
      html`<label class="check"><input type="radio" name="severity" value="${one}"${one === chosen ? html` checked` : null}> <span><code>${one}</code>: ${words.say(`notice-add.${one}`)}</span></label>`,
  )}</fieldset>`;
  return {
    title: words.say('notice-add.title'),
    status: fault === null ? 200 : 400,
    content: html`${faultMessage(fault)}
<form method="post" action="${PATH}" class="card" aria-labelledby="kind"><h2 id="kind">${words.say(`notice-add.kind_${kind}`)}</h2>
${changeFields(visit)}<input type="hidden" name="kind" value="${kind}">
<label>${words.say('notice-add.called')} <input name="name" maxlength="${TARGET_NAME_CHARS_MAX}" value="${form.name ?? ''}" required></label>
${fieldsOf[kind].map((field) => fieldInput(visit, kind, field))}
${kind === 'dead-man' ? null : which}
<p class="actions"><a class="button plain" href="${LIST}">${words.say('change.cancel')}</a> <button>${words.say('notice-add.go_on')}</button></p></form>`,
  };
}

/** Whoever chooses nothing hears of what somebody must do something about. */
const severityOf = (form: Visit<null>['form']): Severity => severities.find((one) => one === form.severity) ?? 'act';

/** What is secret is typed unseen, and never shown again. */
function fieldInput({ form, words }: Visit<null>, kind: ChannelKind, field: TargetField): Html {
  const isSecret = field === 'secret' || field === 'token';
  const label = labelOf(words, kind, field);
  const isOptional = field === 'user' || field === 'server' || field === 'token' || (kind === 'email' && isSecret);
  const need = isOptional ? null : html` required`;
  return isSecret
    ? html`<label>${label} <input name="${field}" type="password" autocomplete="off" dir="ltr" maxlength="${FIELD_CHARS_MAX}"${need}></label>`
    : html`<label>${label} <input name="${field}" dir="ltr" autocomplete="off" spellcheck="false" maxlength="${FIELD_CHARS_MAX}" placeholder="${kind === 'email' && field !== 'smtp' ? 'name@shop.example' : (examples[field] ?? '')}" value="${form[field] ?? ''}"${need}></label>`;
}

async function planTarget(deps: DashboardDeps, visit: Visit<null>): Promise<Planned> {
  const { form, words } = visit;
  const kind = kindOf(form.kind);
  if (!kind) return null;
  const again = (fault: Html | string) => formPage(visit, kind, fault);
  const missing = (field: string) => again(words.say('notice-add.missing', { field }));
  const name = (form.name ?? '').trim();
  if (name === '' || name.length > TARGET_NAME_CHARS_MAX) return missing(words.say('notice-add.called'));
  const severity = severityOf(form);
  const typed = Object.fromEntries(fieldsOf[kind].map((field) => [field, (form[field] ?? '').trim()]));
  const read = await deps.newNotices.read(kind, typed);
  if ('field' in read) {
    const field = labelOf(words, kind, read.field);
    return read.problem === null
      ? missing(field)
      : again(words.html('notice-add.wrong', { field, problem: english(read.problem) }));
  }
  if ((await deps.database.notices.listTargets()).length >= TARGETS_MAX)
    return again(words.say('notice-add.full', { count: TARGETS_MAX }));
  const isCalled = kind === 'dead-man';
  let target: NewNoticeTarget | null = null;
  return {
    command: 'add notice target',
    target: name,
    review: {
      title: isCalled ? words.say('notice-add.title') : words.say('notice-add.review_title', { name }),
      consequence: html`${facts([
        [words.say('notices.by'), data(kind)],
        ...(isCalled ? [] : [[words.say('notices.severities'), toldText({ severity })] as const]),
        ...(URL.canParse(typed.secret ?? '')
          ? [[words.say('general.url'), data(new URL(typed.secret ?? '').host)] as const]
          : []),
        ...(typed.to ? [[labelOf(words, kind, 'to'), data(typed.to)] as const] : []),
      ])}<p>${words.say(isCalled ? 'notice-add.review_called' : 'notice-add.review_text')}</p>`,
      button: words.say(isCalled ? 'notice-add.call' : 'notice-add.send'),
      back: `${PATH}?kind=${kind}`,
      // What is sent there may tell whoever reads it of weaknesses, and a URL is called.
      needsSudo: true,
    },
    async before() {
      const sent = await deps.newNotices.send({ kind, name, address: read.address, severity });
      if (!sent.answer.ok) {
        const { status, text } = sent.answer;
        return again(words.html('notice-add.not_taken', { answer: english([status ?? '', text].join(' ').trim()) }));
      }
      target = sent.target;
      return undefined;
    },
    async act(database, act) {
      if (!target) return null;
      await database.notices.addTarget(target, act);
      if (kind === 'webhook') return secretPage(words, (JSON.parse(target.address) as { secret: string }).secret);
      return { to: LIST, said: words.say(isCalled ? 'notice-add.is_called' : 'notice-add.sent', { name }) };
    },
  };
}

const secretPage = (words: Words, secret: string): Reply => ({
  title: words.say('notice-add.title'),
  content: html`<section class="card"><p>${words.say('notice-add.signed_with')} ${copyCode(secret)}</p>
<p class="actions"><a class="button" href="${LIST}">${words.say('notice-add.saved')}</a></p></section>`,
});
