/**
 * Who is informed about alarms, on the page of alarms: added, proved by the code that arrives there, removed.
 */
import { type Severity, severities } from '../../core/notice.ts';
import { type ChannelKind, channelKinds } from '../../database/column-values.ts';
import {
  isInformed,
  type NewNoticeTarget,
  type NoticeTarget,
  TARGET_NAME_CHARS_MAX,
  TARGETS_MAX,
  type TargetField,
} from '../../database/notices.ts';
import { type Html, html } from '../../lib/html.ts';
import { facts, list, section } from '../../web/list.ts';
import { changeForm, commonChange, hidden, type Planned } from '../change.ts';
import type { DashboardDeps } from '../deps.ts';
import type { CommonPage, Reply, Visit } from '../page.ts';
import { badge, copyCode, data, english, time } from '../show.ts';

const BACK = '/operator/alarms';
const PATH = '/operator/notices';
const FIELD_CHARS_MAX = 2_048;

type Field = readonly [field: TargetField, label: string, isOptional?: true];

/** What each kind of message needs, in the order of its form. */
const kinds: Readonly<Record<ChannelKind, Readonly<{ title: string; fields: readonly Field[] }>>> = {
  email: { title: 'E-mail, through the mail server of the settings', fields: [['to', 'To which address']] },
  telegram: {
    title: 'Telegram',
    fields: [
      ['token', 'Token of the bot, as BotFather gave it'],
      ['to', 'Id of the chat, such as -1001234567890'],
    ],
  },
  ntfy: {
    title: 'ntfy, a push message',
    fields: [
      ['url', 'URL of the topic, such as https://ntfy.sh/TOPIC'],
      ['token', 'Access token, if the server wants one', true],
    ],
  },
  slack: { title: 'Slack', fields: [['url', 'URL of the incoming webhook']] },
  discord: { title: 'Discord', fields: [['url', 'URL of the channel’s webhook']] },
  webhook: {
    title: 'A URL of yours, by a signed request',
    fields: [['url', 'URL; the secret that signs the messages is made now and shown once']],
  },
  'dead-man': {
    title: 'A URL that is called each minute while all is well',
    fields: [['url', 'URL of the service that tells you when calls stop']],
  },
};

const severityTexts: Readonly<Record<Severity, string>> = {
  page: 'money or custody is at risk',
  act: 'and where somebody waits',
  know: 'and what can wait',
};

/** Shows the page of alarms again, with what is wrong. */
type Back = (visit: Visit<null>, fault: Html | string) => Promise<Reply>;

export const noticeChanges = (deps: DashboardDeps, back: Back): readonly CommonPage[] => [
  commonChange(deps, { path: PATH, needs: 'installation:manage', plan: (visit) => planTarget(deps, visit, back) }),
  ...(
    [
      ['prove', planProof],
      ['remove', planRemoval],
    ] as const
  ).map(([act, planOf]) =>
    commonChange(deps, {
      path: `${PATH}/:target/${act}`,
      needs: 'installation:manage',
      async plan(visit) {
        const target = (await deps.database.notices.listTargets()).find(({ id }) => id === visit.params.target);
        return target ? planOf(deps, visit, target, back) : null;
      },
    }),
  ),
];

export async function noticeSection({ database }: DashboardDeps, visit: Visit<null>): Promise<Html> {
  const targets = list<NoticeTarget>({
    caption: 'Who is informed about alarms',
    columns: [
      ['Name', ({ name }) => data(name)],
      ['By', ({ kind }) => data(kind)],
      ['Severities', (one) => (one.kind === 'dead-man' ? 'called while all is well' : toldText(one))],
      ['State', stateOf, 'lead'],
      ['Last message', ({ lastSentAtMs }) => (lastSentAtMs === null ? 'none yet' : time(lastSentAtMs))],
      ['Change', (one) => targetForms(visit, one)],
    ],
    rows: await database.notices.listTargets(),
    empty: 'Nobody is informed: an alarm is seen by whoever looks here. Add somebody below.',
  });
  return section(
    'targets',
    'Who is informed about alarms',
    html`${targets}<div class="card"><h3>Inform somebody</h3>${channelKinds.map((kind) => addForm(visit, kind))}</div>`,
    'plain',
  );
}

/** Returns the severities that a target hears of. */
const toldText = ({ severity }: Pick<NoticeTarget, 'severity'>): Html =>
  data(severities.slice(0, severities.indexOf(severity) + 1).join(', '));

function stateOf({ provedAtMs, failingSinceMs, lastError }: NoticeTarget): Html {
  if (provedAtMs === null) return badge('waits for its code', 'attention');
  return failingSinceMs === null
    ? badge('proved', 'good')
    : html`${badge('fails', 'danger')} <span class="hint">since ${time(failingSinceMs)}: ${english(lastError ?? '')}</span>`;
}

function targetForms(visit: Visit<null>, { id, name, provedAtMs }: NoticeTarget): Html {
  const form = (act: string, text: string, fields: Html | null = null) =>
    changeForm(visit, `${PATH}/${id}/${act}`, html`${text} <span class="unseen">${name}</span>`, { fields });
  const code = html`<label>Code that arrived at ${data(name)} <input name="proof" inputmode="numeric" autocomplete="off" maxlength="12" dir="ltr" required></label>`;
  return html`<div class="actions">${provedAtMs === null ? form('prove', 'Prove', code) : null}${form('remove', 'Remove')}</div>`;
}

/** What is secret is typed unseen, and never shown again. */
function addForm(visit: Visit<null>, kind: ChannelKind): Html {
  const { form } = visit;
  const { title, fields } = kinds[kind];
  const isOpen = form.kind === kind;
  const typedAs = (name: string): string => (isOpen ? (form[name] ?? '') : '');
  const inputs = fields.map(([field, label, isOptional]) => {
    const look = field === 'to' ? html`spellcheck="false" value="${typedAs(field)}"` : html`type="password"`;
    return html`<label>${label} <input name="${field}" ${look} autocomplete="off" dir="ltr" maxlength="${FIELD_CHARS_MAX}"${isOptional ? null : html` required`}></label>`;
  });
  const options = severities.map(
    (one) =>
      html`<option value="${one}"${one === severityOf(form) ? html` selected` : null}>${one}: ${severityTexts[one]}</option>`,
  );
  const which =
    kind === 'dead-man' ? null : html`<label>Which alarms <select name="severity">${options}</select></label>`;
  return html`<details${isOpen ? html` open` : null}><summary>${title}</summary>
${changeForm(visit, PATH, 'Go on', {
  fields: html`${hidden('kind', kind)}
<label>What you call it <input name="name" maxlength="${TARGET_NAME_CHARS_MAX}" value="${typedAs('name')}" required></label>
${inputs}${which}`,
})}</details>`;
}

/** Whoever chooses nothing hears of what somebody must do something about. */
const severityOf = (form: Visit<null>['form']): Severity => severities.find((one) => one === form.severity) ?? 'act';

async function planTarget(deps: DashboardDeps, visit: Visit<null>, back: Back): Promise<Planned> {
  const { form } = visit;
  const kind = channelKinds.find((one) => one === form.kind);
  if (!kind) return null;
  const again = (fault: string) => back(visit, `${fault} A secret has to be typed again.`);
  const { fields } = kinds[kind];
  const name = (form.name ?? '').trim();
  if (name === '' || name.length > TARGET_NAME_CHARS_MAX) return again('“What you call it” is missing.');
  const typed = Object.fromEntries(
    fields.flatMap(([field]) => {
      const text = (form[field] ?? '').trim();
      return text === '' ? [] : [[field, text]];
    }),
  );
  const read = deps.newNotices.read(kind, typed);
  if ('field' in read) {
    const label = fields.find(([field]) => field === read.field)?.[1] ?? read.field;
    return again(`“${label}” ${typed[read.field] ? `cannot be used: ${read.problem}` : 'is missing'}.`);
  }
  if ((await deps.database.notices.listTargets()).length >= TARGETS_MAX) {
    return again(`There are ${TARGETS_MAX} already. Remove one first.`);
  }
  const [isCalled, severity] = [kind === 'dead-man', severityOf(form)];
  let target: NewNoticeTarget | null = null;
  return {
    command: 'add notice target',
    target: name,
    review: {
      title: isCalled ? `Call ${name} each minute?` : `Send a code to ${name}?`,
      consequence: html`${facts([
        ['By', data(kind)],
        isCalled ? null : ['Severities', toldText({ severity })],
        typed.url ? ['Host', data(new URL(typed.url).host)] : null,
        typed.to ? ['To', data(typed.to)] : null,
      ])}<p>${
        isCalled
          ? 'The URL is called now, and from then on each minute while no alarm of the severity page is open.'
          : 'A message with a code is sent there now. Once you have typed it here, alarms go there too.'
      } The secret is sealed and never shown again.</p>`,
      button: isCalled ? 'Call it' : 'Send the code',
      back: BACK,
      // What is sent there may tell whoever reads it of weaknesses, and a URL is called.
      needsSudo: true,
    },
    async before() {
      const sent = await deps.newNotices.send({ kind, name, address: read.address, severity });
      const { ok, status, text } = sent.answer;
      if (!ok)
        return again(`The service did not take it: ${[status ?? '', text].join(' ').trim()}. Nothing was saved.`);
      target = sent.target;
      return undefined;
    },
    async act(database, act) {
      if (!target) return null;
      await database.notices.addTarget(target, act);
      if (kind === 'webhook') return secretPage((JSON.parse(target.address) as { secret: string }).secret);
      const said = `A code was sent to ${name}. Type it here when it has arrived.`;
      return { to: BACK, said: isCalled ? `${name} answered, and is called each minute from now on.` : said };
    },
  };
}

const secretPage = (secret: string): Reply => ({
  title: 'Inform somebody',
  content: html`<section class="card"><p>Messages are signed with this secret, which is not shown again: ${copyCode(secret)}</p>
<p class="actions"><a class="button" href="${BACK}">I have saved it</a></p></section>`,
});

async function planProof(_deps: DashboardDeps, visit: Visit<null>, target: NoticeTarget, back: Back): Promise<Planned> {
  const { id, name } = target;
  return {
    command: 'prove notice target',
    target: id,
    review: null,
    async act({ notices }, act) {
      const proved = await notices.proveTarget(id, (visit.form.proof ?? '').trim(), act);
      if (proved === 'proved') return { to: BACK, said: `${name} is informed about alarms from now on.` };
      if (proved === 'wrong') return back(visit, `That is not the code that was sent to ${name}. Look again.`);
      return proved && back(visit, `Too many wrong codes: remove ${name}, and add it again.`);
    },
  };
}

async function planRemoval(deps: DashboardDeps, _visit: Visit<null>, target: NoticeTarget): Promise<Planned> {
  const { id, name, kind } = target;
  const all = await deps.database.notices.listTargets();
  const others = all.filter((one) => one.id !== id && isInformed(one)).length;
  return {
    command: 'remove notice target',
    target: id,
    review: {
      title: `Remove ${name}?`,
      consequence: html`${facts([
        ['By', data(kind)],
        ['Severities', toldText(target)],
      ])}<p class="message attention">${
        others === 0
          ? 'Nobody else is informed: after this an alarm is seen by whoever looks here.'
          : `Others that are informed: ${others}.`
      } Its secrets are forgotten.</p>`,
      button: 'Remove it',
      back: BACK,
      // Whoever steals a session must not be able to silence what would report the theft.
      needsSudo: true,
    },
    async act(database, act) {
      return (await database.notices.removeTarget(id, act)) ? { to: BACK, said: `${name} was removed.` } : null;
    },
  };
}
