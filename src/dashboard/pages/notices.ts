/**
 * Recipients of alarms, on the page of alarms: added, proved by the code that arrives there, removed.
 */
import {
  type Context,
  type Field,
  isRefusal,
  oneOf,
  type Refusal,
  refuse,
  type Sentence,
  say,
} from '../../acts/act.ts';
import { type Severity, severities } from '../../core/notice.ts';
import { type ChannelKind, channelKinds } from '../../database/column-values.ts';
import {
  isInformed,
  type NewNoticeTarget,
  type NoticeTarget,
  TARGET_NAME_CHARS_MAX,
  TARGETS_MAX,
  type TargetField,
  type TargetText,
} from '../../database/notices.ts';
import { type Html, html } from '../../lib/html.ts';
import { list, section } from '../../web/list.ts';
import { browserAct, formOf } from '../act-form.ts';
import type { DashboardDeps } from '../deps.ts';
import type { Visit } from '../page.ts';
import { badge, data, english, time } from '../show.ts';

const PATH = '/operator/notices';
const FIELD_CHARS_MAX = 2_048;

type Asked = readonly [field: TargetField, label: string, isOptional?: true];

/** The settings of each kind of message, in the order of its form. */
const kinds: Readonly<Record<ChannelKind, Readonly<{ title: string; fields: readonly Asked[] }>>> = {
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

const severityWords: Readonly<Record<Severity, Sentence>> = {
  page: say('page: money or custody is at risk'),
  act: say('act: and where somebody waits'),
  know: say('know: and what can wait'),
};
const readKind = oneOf(channelKinds);
/** Without a choice, a person hears of alarms that need an act. */
const readSeverity = (text: string): Severity => severities.find((one) => one === text) ?? 'act';

/** `target`: once its code was sent. */
type NewPlan = Readonly<{
  kind: ChannelKind;
  name: string;
  address: string;
  severity: Severity;
  typed: TargetText;
  target: NewNoticeTarget | null;
}>;

const urlField = { label: say('URL'), charsMax: FIELD_CHARS_MAX, isSecret: true } as const satisfies Field;

const addTarget = browserAct({
  name: 'notify add',
  needs: 'installation:manage',
  // Messages may reveal weaknesses to their reader, and a URL is called.
  asks: 'second factor',
  fields: {
    kind: { label: say('By'), isArgument: true, read: readKind },
    name: { label: say('What you call it'), charsMax: TARGET_NAME_CHARS_MAX, isRequired: true, isProse: true },
    url: urlField,
    token: urlField,
    to: { label: say('To'), charsMax: FIELD_CHARS_MAX },
    severity: { label: say('Which alarms'), offers: severityWords, read: readSeverity },
  },
  async plan({ deps, database }, { kind, name, severity = 'act', url, token, to }): Promise<NewPlan | Refusal> {
    const { fields } = kinds[kind];
    if (name === '' || name.length > TARGET_NAME_CHARS_MAX)
      return refuse('usage', say('“What you call it” is missing.'));
    const typed: TargetText = { ...(url && { url }), ...(token && { token }), ...(to && { to }) };
    const read = deps.newNotices.read(kind, typed);
    if ('field' in read) {
      const label = fields.find(([field]) => field === read.field)?.[1] ?? read.field;
      const { problem } = read;
      return refuse(
        'usage',
        typed[read.field]
          ? say('“{label}” cannot be used: {problem}.', { label, problem })
          : say('“{label}” is missing.', { label }),
      );
    }
    if ((await database.notices.listTargets()).length >= TARGETS_MAX) {
      return refuse('refused', say('There are {count} already. Remove one first.', { count: TARGETS_MAX }));
    }
    return { kind, name, address: read.address, severity, typed, target: null };
  },
  review: ({ kind, name, severity, typed }) => ({
    ...(kind === 'dead-man' ? calling(name) : sending(name)),
    target: name,
    facts: [
      [say('By'), kind],
      ...(kind === 'dead-man' ? [] : [[say('Severities'), toldText({ severity })] as const]),
      ...(typed.url ? [[say('Host'), new URL(typed.url).host] as const] : []),
      ...(typed.to ? [[say('To'), typed.to] as const] : []),
    ],
  }),
  async before({ deps }, plan) {
    const { kind, name, address, severity } = plan;
    const { target, answer } = await deps.newNotices.send({ kind, name, address, severity });
    const why = [answer.status ?? '', answer.text].join(' ').trim();
    if (!answer.ok) return refuse('refused', say('The service did not take it: {why}. Nothing was saved.', { why }));
    return { ...plan, target };
  },
  async run({ database, act }, { kind, name, target }) {
    if (!target) return unknown;
    await database.notices.addTarget(target, act);
    if (kind === 'webhook') {
      const { secret } = JSON.parse(target.address) as { secret: string };
      return {
        made: say('Inform somebody'),
        said: say('Messages are signed with this secret, which is not shown again.'),
        facts: [[say('Secret'), { code: secret }]],
        json: {},
      };
    }
    const said =
      kind === 'dead-man'
        ? '{name} answered, and is called each minute from now on.'
        : 'A code was sent to {name}. Type it here when it has arrived.';
    return { said: say(said, { name }), json: {} };
  },
});

const sealed = say('The secret is sealed and never shown again.');
const calling = (name: string) => ({
  title: say('Call {name} each minute?', { name }),
  notes: [
    say('The URL is called now, and from then on each minute while no alarm of the severity page is open.'),
    sealed,
  ],
  button: say('Call it'),
});
const sending = (name: string) => ({
  title: say('Send a code to {name}?', { name }),
  notes: [say('A message with a code is sent there now. Once you have typed it here, alarms go there too.'), sealed],
  button: say('Send the code'),
});

const targetField = { label: say('Who is informed'), isArgument: true } as const satisfies Field;
const unknown = refuse('not_found', say('There is nobody by that id.'));

/** Returns the target that a form is about. */
const targetOf = async ({ database }: Context, id: string): Promise<NoticeTarget | Refusal> =>
  (await database.notices.listTargets()).find((one) => one.id === id) ?? unknown;

const proveTarget = browserAct({
  name: 'notify prove',
  needs: 'installation:manage',
  fields: {
    target: targetField,
    proof: { label: say('Code that arrived there'), charsMax: 12, isRequired: true },
  },
  async plan(context, { target: id, proof }) {
    const target = await targetOf(context, id);
    return isRefusal(target) ? target : { target, proof };
  },
  target: ({ target }) => target.id,
  async run({ database, act }, { target: { id, name }, proof }) {
    const proved = await database.notices.proveTarget(id, proof, act);
    if (proved === 'proved') return { said: say('{name} is informed about alarms from now on.', { name }), json: {} };
    const why =
      proved === 'wrong'
        ? 'That is not the code that was sent to {name}. Look again.'
        : 'Too many wrong codes: remove {name}, and add it again.';
    return refuse('refused', say(why, { name }));
  },
});

const removeTarget = browserAct({
  name: 'notify remove',
  needs: 'installation:manage',
  // A thief of a session must not be able to silence its report.
  asks: 'second factor',
  fields: { target: targetField },
  async plan(context, { target: id }) {
    const target = await targetOf(context, id);
    if (isRefusal(target)) return target;
    const others = (await context.database.notices.listTargets()).filter((one) => one.id !== id && isInformed(one));
    return { target, others: others.length };
  },
  review: ({ target, others }) => ({
    title: say('Remove {name}?', { name: target.name }),
    target: target.id,
    facts: [
      [say('By'), target.kind],
      [say('Severities'), toldText(target)],
    ],
    notes: [
      others === 0
        ? say('Nobody else is informed: after this an alarm is seen by whoever looks here. Its secrets are forgotten.')
        : say('Others that are informed: {others}. Its secrets are forgotten.', { others }),
    ],
    button: say('Remove it'),
  }),
  async run({ database, act }, { target: { id, name } }) {
    const isRemoved = await database.notices.removeTarget(id, act);
    return isRemoved ? { said: say('{name} was removed.', { name }), json: {} } : unknown;
  },
});

const adding = formOf(addTarget, { path: `${PATH}/:kind`, inputs: ['name', 'url', 'token', 'to', 'severity'] });
const proving = formOf(proveTarget, { path: `${PATH}/:target/prove`, inputs: ['proof'] });
const removing = formOf(removeTarget, { path: `${PATH}/:target/remove` });

/** Forms of the page of alarms. */
export const noticeForms = [adding, proving, removing];

export async function noticeSection({ database }: DashboardDeps, visit: Visit<null>): Promise<Html> {
  const targets = list<NoticeTarget>({
    caption: 'Who is informed about alarms',
    columns: [
      ['Name', ({ name }) => data(name)],
      ['By', ({ kind }) => data(kind)],
      ['Severities', (one) => (one.kind === 'dead-man' ? 'called while all is well' : data(toldText(one)))],
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
const toldText = ({ severity }: Pick<NoticeTarget, 'severity'>): string =>
  severities.slice(0, severities.indexOf(severity) + 1).join(', ');

function stateOf({ provedAtMs, failingSinceMs, lastError }: NoticeTarget): Html {
  if (provedAtMs === null) return badge('waits for its code', 'attention');
  return failingSinceMs === null
    ? badge('proved', 'good')
    : html`${badge('fails', 'danger')} <span class="hint">since ${time(failingSinceMs)}: ${english(lastError ?? '')}</span>`;
}

function targetForms(visit: Visit<null>, { id, name, provedAtMs }: NoticeTarget): Html {
  const shown = (button: string) => ({ button, given: { target: id }, about: name });
  const prove = provedAtMs === null ? proving.show(visit, shown('Prove')) : null;
  return html`<div class="actions">${prove}${removing.show(visit, shown('Remove'))}</div>`;
}

function addForm(visit: Visit<null>, kind: ChannelKind): Html | null {
  const { title, fields } = kinds[kind];
  return adding.show(visit, {
    ...{ button: 'Go on', opens: title, given: { kind }, texts: { severity: 'act' } },
    labels: Object.fromEntries(fields.map(([field, label]) => [field, say(label)])),
    inputs: ['name', ...fields.map(([field]) => field), ...(kind === 'dead-man' ? [] : ['severity'])],
  });
}
