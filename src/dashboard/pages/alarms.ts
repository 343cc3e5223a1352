/**
 * Alarms, for the operator: open, acknowledged, over. Those that watch something end by themselves; one that
 * reports an event waits for a person to resolve it. And who is informed about them.
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
import { acknowledgeAlarm } from '../../acts/alarms.ts';
import { type Severity, severities } from '../../core/notice.ts';
import {
  type Alarm,
  isInformed,
  type NewNoticeTarget,
  type NoticeTarget,
  TARGET_NAME_CHARS_MAX,
  TARGETS_MAX,
  type TargetField,
  type TargetText,
} from '../../database/alarms.ts';
import { type ChannelKind, channelKinds } from '../../database/column-values.ts';
import { type Html, html } from '../../lib/html.ts';
import { pageOf } from '../../web/filters.ts';
import { type Column, list, section } from '../../web/list.ts';
import { badge, data, english, plainText, time } from '../../web/show.ts';
import { browserAct, formOf, pageWith } from '../act-form.ts';
import type { DashboardDeps } from '../deps.ts';
import { type Listing, showList } from '../listing.ts';
import type { Page, Reply, Visit } from '../page.ts';

const PATH = '/operator/alarms';
const acknowledging = formOf(acknowledgeAlarm, { path: `${PATH}/acknowledge`, inputs: ['alarm'] });

export const alarmPages = (deps: DashboardDeps): readonly Page[] =>
  pageWith(deps, { path: PATH, needs: 'installation:read', answer: (visit) => alarmsPage(deps, visit) }, [
    ...[acknowledging, adding, proving, removing],
  ]);

const alarmList = ({ database }: DashboardDeps): Listing<null, Alarm> => ({
  path: PATH,
  caption: () => 'Alarms',
  async read(_visit, _chosen, after, limit) {
    const beforeId = /^[1-9]\d{0,14}$/.test(after ?? '') ? Number(after) : undefined;
    return pageOf(await database.alarms.list(limit + 1, beforeId), limit, ({ id }) => id);
  },
  columns: alarmColumns,
  empty: () => html`${badge('nothing open', 'good')} Alarms are listed here, and stay after their end.`,
});

/** All alarms, the newest first. The page of the installation has those that last, however old they are. */
async function alarmsPage(deps: DashboardDeps, visit: Visit<null>): Promise<Reply> {
  const all = await showList(alarmList(deps), visit);
  return {
    title: 'Alarms',
    content: html`${all.table}
${all.isFirst ? await noticeSection(deps, visit) : null}`,
  };
}

/** The columns of alarms, with what can be done about each. */
export const alarmColumns = (visit: Visit<null>): readonly Column<Alarm>[] => [
  ['Raised', ({ atMs }) => time(atMs)],
  ['State', alarmState, 'lead'],
  [
    'Alarm',
    ({ id, code, network }) =>
      html`${nameOf(id)} <code>${code}</code>${network === null ? null : html` <code>${network}</code>`}`,
  ],
  ['What happened, and what to do', ({ message }) => english(message)],
  ['Change', (one) => changeOf(visit, one)],
];

const nameOf = (id: number): string => `A-${id}`;

/** An alarm's outcome, its end, and the person who looks at it. */
function alarmState({ key, endedAtMs, acknowledgedAtMs, acknowledgedBy, acknowledgedNote }: Alarm): Html {
  const until = endedAtMs === null ? null : html`<p class="hint">until ${time(endedAtMs)}</p>`;
  const note =
    acknowledgedNote === null
      ? null
      : html`<p class="note">${data(plainText(acknowledgedNote))}</p><p class="hint">${data(acknowledgedBy ?? '')}</p>`;
  const state = () => {
    if (endedAtMs !== null) return badge(key === null ? 'resolved' : 'over', 'good');
    if (acknowledgedAtMs !== null) return badge('acknowledged', 'attention');
    return key === null ? badge('event', 'attention') : badge('open', 'danger');
  };
  return html`${state()}${until}${note}`;
}

function changeOf(visit: Visit<null>, { id, endedAtMs, acknowledgedAtMs }: Alarm): Html | null {
  if (endedAtMs !== null || acknowledgedAtMs !== null) return null;
  return acknowledging.show(visit, {
    button: 'Acknowledge',
    about: nameOf(id),
    look: 'small',
    opens: 'Acknowledge…',
    given: { alarm: String(id) },
    reason: say('Note'),
  });
}

// ── Recipients of alarms: added, proved by the code that arrives there, removed. ─────────────────────────

const NOTICES_PATH = '/operator/notices';
const FIELD_CHARS_MAX = 2_048;

/** The address that each kind of message needs, for the choice of the form. */
const kindWords: Readonly<Record<ChannelKind, Sentence>> = {
  email: say('E-mail, through the mail server of the settings'),
  telegram: say('Telegram: the token of a bot, and the id of a chat'),
  ntfy: say('ntfy, a push message: the URL of a topic'),
  slack: say('Slack: the URL of an incoming webhook'),
  discord: say('Discord: the URL of a channel’s webhook'),
  webhook: say('A URL of yours, by a signed request'),
  'dead-man': say('A URL that is called each minute while all is well'),
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

const secretField = { charsMax: FIELD_CHARS_MAX, isSecret: true } as const;
/** Names of the fields in messages about what is wrong with them. */
const labels: Readonly<Record<TargetField, Sentence>> = { url: say('URL'), token: say('Token'), to: say('To') };

const addTarget = browserAct({
  name: 'notify add',
  needs: 'installation:manage',
  // Messages may reveal weaknesses to their reader, and a URL is called.
  asks: 'second factor',
  fields: {
    kind: { label: say('By'), offers: kindWords, isRequired: true, read: readKind },
    name: { label: say('What you call it'), charsMax: TARGET_NAME_CHARS_MAX, isRequired: true, isProse: true },
    to: { label: labels.to, hint: say('An e-mail address, or the id of a chat.'), charsMax: FIELD_CHARS_MAX },
    url: { label: labels.url, ...secretField },
    token: { label: labels.token, hint: say('Of a bot, or of an ntfy server that wants one.'), ...secretField },
    severity: { label: say('Which alarms'), offers: severityWords, read: readSeverity },
  },
  async plan({ deps, database }, { kind, name, severity = 'act', url, token, to }): Promise<NewPlan | Refusal> {
    if (name === '' || name.length > TARGET_NAME_CHARS_MAX)
      return refuse('usage', say('“What you call it” is missing.'));
    const typed: TargetText = { ...(url && { url }), ...(token && { token }), ...(to && { to }) };
    const read = deps.newNotices.read(kind, typed);
    if ('field' in read) {
      const { problem } = read;
      const label = labels[read.field];
      return refuse(
        'usage',
        typed[read.field]
          ? say('“{label}” cannot be used: {problem}.', { label, problem })
          : say('“{label}” is missing.', { label }),
      );
    }
    if ((await database.alarms.listTargets()).length >= TARGETS_MAX) {
      return refuse('refused', say('There are {count} already. Remove one first.', { count: TARGETS_MAX }));
    }
    return { kind, name, address: read.address, severity, typed, target: null };
  },
  review: ({ kind, name, severity, typed }) => ({
    title: say('Send a message to {name}?', { name }),
    facts: [
      [say('By'), kind],
      [say('Severities'), toldText({ severity })],
      [say('Goes to'), typed.to ?? new URL(typed.url ?? '').host],
    ],
    notes: [
      kind === 'dead-man'
        ? say('The URL is called each minute from now on, while no alarm of the severity page is open.')
        : say('The message has a code. Once you have typed it here, alarms go there too.'),
      say('The secret is sealed and never shown again.'),
    ],
    button: say('Send it'),
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
    await database.alarms.addTarget(target, act);
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

const targetField = { label: say('Who is informed'), isArgument: true } as const satisfies Field;
const unknown = refuse('not_found', say('There is nobody by that id.'));

/** Returns the target that a form is about. */
const targetOf = async ({ database }: Context, id: string): Promise<NoticeTarget | Refusal> =>
  (await database.alarms.listTargets()).find((one) => one.id === id) ?? unknown;

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
  async run({ database, act }, { target: { id, name }, proof }) {
    const proved = await database.alarms.proveTarget(id, proof, act);
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
    const others = (await context.database.alarms.listTargets()).filter((one) => one.id !== id && isInformed(one));
    return { target, others: others.length };
  },
  review: ({ target, others }) => ({
    title: say('Remove {name}?', { name: target.name }),
    facts: [
      [say('By'), target.kind],
      [say('Severities'), toldText(target)],
    ],
    notes: [
      others === 0
        ? say('Nobody else is informed: after this an alarm is seen on this page alone. Its secrets are forgotten.')
        : say('Others that are informed: {others}. Its secrets are forgotten.', { others }),
    ],
    button: say('Remove it'),
  }),
  async run({ database, act }, { target: { id, name } }) {
    const isRemoved = await database.alarms.removeTarget(id, act);
    return isRemoved ? { said: say('{name} was removed.', { name }), json: {} } : unknown;
  },
});

const targetInputs = ['kind', 'name', 'to', 'url', 'token', 'severity'];
const adding = formOf(addTarget, { path: NOTICES_PATH, inputs: targetInputs });
const proving = formOf(proveTarget, { path: `${NOTICES_PATH}/:target/prove`, inputs: ['proof'] });
const removing = formOf(removeTarget, { path: `${NOTICES_PATH}/:target/remove` });

async function noticeSection({ database }: DashboardDeps, visit: Visit<null>): Promise<Html> {
  const targets = list<NoticeTarget>({
    caption: 'Who is informed about alarms',
    columns: [
      ['Name', ({ name }) => data(name)],
      ['By', ({ kind }) => data(kind)],
      ['Severities', (one) => (one.kind === 'dead-man' ? 'called while all is well' : data(toldText(one)))],
      ['State', targetState, 'lead'],
      ['Last message', ({ lastSentAtMs }) => (lastSentAtMs === null ? 'none yet' : time(lastSentAtMs))],
      ['Change', (one) => targetForms(visit, one)],
    ],
    rows: await database.alarms.listTargets(),
    empty: 'Nobody is informed: an alarm is seen on this page alone. Add somebody below.',
  });
  return section(
    'targets',
    'Who is informed about alarms',
    html`${targets}<div class="card">${adding.show(visit, { button: 'Continue', opens: 'Inform somebody', texts: { severity: 'act' } })}</div>`,
    'plain',
  );
}

/** Returns the severities that a target hears of. */
const toldText = ({ severity }: Pick<NoticeTarget, 'severity'>): string =>
  severities.slice(0, severities.indexOf(severity) + 1).join(', ');

function targetState({ provedAtMs, failingSinceMs, lastError }: NoticeTarget): Html {
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
