/**
 * Adding somebody who is informed about alarms: how, where, of what and when. A code is sent there, and the page of
 * notices asks for it.
 * @module
 */
import { type Severity, severities } from '../../core/notice.ts';
import {
  AFTER_MINUTES_MAX,
  type ChannelKind,
  channelKinds,
  type NewNoticeTarget,
  TARGET_NAME_CHARS_MAX,
  TARGETS_MAX,
  type TargetField,
} from '../../database/notices.ts';
import { type Html, html } from '../../lib/html.ts';
import { readMinute, readZone } from '../../lib/zone.ts';
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
      return kind ? formPage(deps, visit, kind, null) : choicePage(visit.words);
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

async function formPage(
  { database }: DashboardDeps,
  visit: Visit<null>,
  kind: ChannelKind,
  fault: Html | string | null,
): Promise<Reply> {
  const { form, words, zone } = visit;
  const isSent = form.kind !== undefined;
  const isOn = (name: string, usual: boolean) => ((isSent ? form[name] === 'on' : usual) ? html` checked` : null);
  const isCalled = kind === 'dead-man';
  const stores = await database.listStores();
  const time = (name: 'quiet_from' | 'quiet_to' | 'digest') =>
    html`<label>${words.say(`notice-add.${name}`)} <input name="${name}" type="time" value="${form[name] ?? ''}"></label>`;
  const what = html`<fieldset><legend>${words.say('notice-add.severities')}</legend>${severities.map(
    (one) =>
      html`<label class="check"><input type="checkbox" name="${one}"${isOn(one, one !== 'know')}> <span><code>${one}</code>: ${words.say(`notice-add.${one}`)}</span></label>`,
  )}</fieldset>
<label>${words.say('notice-add.store')} <select name="store"><option value="">${words.say('general.any')}</option>${stores.map(
    ({ id, name }) =>
      html`<option translate="no" value="${id}"${id === form.store ? html` selected` : null}>${name}</option>`,
  )}</select></label>
<label class="check"><input type="checkbox" name="details"${isOn('details', false)}> ${words.say('notice-add.details')}</label>
<label class="check"><input type="checkbox" name="payments"${isOn('payments', false)}> ${words.say('notice-add.payments')}</label>
<details><summary>${words.say('notice-add.when')}</summary>${time('quiet_from')}${time('quiet_to')}
<label>${words.say('notice-add.after')} <input name="after" inputmode="numeric" maxlength="4" value="${form.after ?? ''}"></label>
${time('digest')}
<label>${words.say('notice-add.zone')} <input name="zone" dir="ltr" maxlength="64" value="${form.zone ?? zone}" required></label></details>`;
  return {
    title: words.say('notice-add.title'),
    status: fault === null ? 200 : 400,
    content: html`${faultMessage(fault)}
<form method="post" action="${PATH}" class="card" aria-labelledby="kind"><h2 id="kind">${words.say(`notice-add.kind_${kind}`)}</h2>
${changeFields(visit)}<input type="hidden" name="kind" value="${kind}">
<label>${words.say('notice-add.called')} <input name="name" maxlength="${TARGET_NAME_CHARS_MAX}" value="${form.name ?? ''}" required></label>
${fieldsOf[kind].map((field) => fieldInput(visit, kind, field))}
${isCalled ? null : what}
<p class="actions"><a class="button plain" href="${LIST}">${words.say('change.cancel')}</a> <button>${words.say('notice-add.go_on')}</button></p></form>`,
  };
}

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

type Settings = Omit<NewNoticeTarget, 'id' | 'kind' | 'address' | 'code' | 'createdAtMs'>;

/** Reads all but where it goes. @returns the sentence that says what is wrong */
async function readSettings(
  { database }: DashboardDeps,
  { form, words, zone: ownZone }: Visit<null>,
  kind: ChannelKind,
): Promise<Settings | Html | string> {
  const text = (name: string) => (form[name] ?? '').trim();
  const isCalled = kind === 'dead-man';
  const missing = (field: string) => words.say('notice-add.missing', { field });
  const name = text('name');
  if (name === '' || name.length > TARGET_NAME_CHARS_MAX) return missing(words.say('notice-add.called'));
  const chosen: readonly Severity[] = isCalled ? ['page'] : severities.filter((one) => form[one] === 'on');
  if (chosen.length === 0 && form.payments !== 'on') return words.say('notice-add.no_severity');
  const storeId = text('store') || null;
  if (storeId !== null && !(await database.findStore(storeId))) return missing(words.say('notice-add.store'));
  const after = text('after') || '0';
  if (!/^\d{1,4}$/.test(after) || Number(after) > AFTER_MINUTES_MAX) return missing(words.say('notice-add.after'));
  const [from, to, digest] = (['quiet_from', 'quiet_to', 'digest'] as const).map((field) => readMinute(text(field)));
  if ((from === null) !== (to === null)) return missing(words.say('notice-add.quiet_to'));
  const zone = readZone(text('zone') || ownZone);
  if (zone === null) return missing(words.say('notice-add.zone'));
  return {
    name,
    severities: chosen,
    storeId,
    showsDetails: form.details === 'on',
    payments: !isCalled && form.payments === 'on',
    quiet: from == null || to == null ? null : { from, to },
    afterMinutes: Number(after),
    digestMinute: digest ?? null,
    zone,
  };
}

async function planTarget(deps: DashboardDeps, visit: Visit<null>): Promise<Planned> {
  const { form, words } = visit;
  const kind = kindOf(form.kind);
  if (!kind) return null;
  const again = (fault: Html | string) => formPage(deps, visit, kind, fault);
  const settings = await readSettings(deps, visit, kind);
  if (typeof settings === 'string' || !('name' in settings)) return again(settings);
  const typed = Object.fromEntries(fieldsOf[kind].map((field) => [field, (form[field] ?? '').trim()]));
  const read = await deps.newNotices.read(kind, typed);
  if ('field' in read) {
    const field = labelOf(words, kind, read.field);
    return again(
      read.problem === null
        ? words.say('notice-add.missing', { field })
        : words.html('notice-add.wrong', { field, problem: english(read.problem) }),
    );
  }
  if ((await deps.database.listNoticeTargets()).length >= TARGETS_MAX)
    return again(words.say('notice-add.full', { count: TARGETS_MAX }));
  const { name } = settings;
  const isCalled = kind === 'dead-man';
  let target: NewNoticeTarget | null = null;
  return {
    command: 'add notice target',
    target: name,
    review: {
      title: isCalled ? words.say('notice-add.title') : words.say('notice-add.review_title', { name }),
      consequence: html`${facts([
        [words.say('notices.by'), data(kind)],
        ...(isCalled ? [] : [[words.say('notices.severities'), toldText(words, settings)] as const]),
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
      const sent = await deps.newNotices.send({ kind, address: read.address, ...settings });
      if (!sent.answer.ok) {
        const { status, text } = sent.answer;
        return again(words.html('notice-add.not_taken', { answer: english([status ?? '', text].join(' ').trim()) }));
      }
      target = sent.target;
      return undefined;
    },
    async act(database, act) {
      if (!target) return null;
      await database.addNoticeTarget(target, act);
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
