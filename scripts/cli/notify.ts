/**
 * Manages who is informed about alarms.
 * @module
 */
import { permanent } from '../../src/core/fault.ts';
import { type Severity, severities } from '../../src/core/notice.ts';
import type { Database } from '../../src/database/database.ts';
import {
  AFTER_MINUTES_MAX,
  type ChannelKind,
  channelKinds,
  type NoticeTarget,
  type QuietHours,
  TARGET_NAME_CHARS_MAX,
  TARGETS_MAX,
} from '../../src/database/notices.ts';
import { createUrlGuard } from '../../src/lib/guard.ts';
import { readMinute, readZone, showMinute } from '../../src/lib/zone.ts';
import type { Delivered } from '../../src/notifications/channels.ts';
import { newTarget, sendCode } from '../../src/notifications/new-target.ts';
import { createSend } from '../../src/notifications/post.ts';
import { sendTestNotices } from '../../src/notifications/test-notice.ts';
import {
  becauseOption,
  type Command,
  dryRunOption,
  type Input,
  moment,
  notFound,
  operatorAct,
  table,
  textOption,
  usage,
} from './command.ts';
import { readTarget, secretFiles } from './notify-address.ts';

const isDead = (kind: ChannelKind): boolean => kind === 'dead-man';

export const notifyAdd: Command = {
  name: 'notify add',
  args: ['kind'],
  summary: `Tell somebody of alarms and news: ${channelKinds.join(', ')}. A code is sent, which \`notify prove\` asks for.`,
  options: {
    'secret-file': { value: 'FILE', help: 'what must stay secret, see below; - reads standard input' },
    name: { value: 'NAME', help: 'what you call it (its kind)' },
    to: { value: 'WHO', help: 'the e-mail address, or the id of the Telegram chat' },
    from: { value: 'ADDRESS', help: 'the sender’s e-mail address' },
    smtp: { value: 'URL', help: 'the mail server: smtps://HOST[:465] (TLS), smtp://HOST[:587] (STARTTLS)' },
    user: { value: 'USER', help: 'the user at the mail server' },
    server: { value: 'URL', help: 'another server than api.telegram.org or ntfy.sh' },
    severities: { value: 'LIST', help: `which alarms, from ${severities.join(', ')} (page,act)` },
    store: { value: 'ID', help: 'only alarms about this store’s payments, and news of its keys and members' },
    payments: { help: 'tell each payment too, together after five minutes, whatever the severities' },
    details: { help: 'send the alarm’s own text and a payment’s amount and order too; the text may name addresses' },
    quiet: { value: 'FROM-TO', help: 'hours like 22:00-07:00 in which only pages are sent' },
    after: { value: 'MINUTES', help: 'only alarms that nobody has acknowledged so long after they opened (0)' },
    digest: { value: 'TIME', help: 'send what is open each day at a time like 08:00, or that all is quiet' },
    zone: { value: 'ZONE', help: 'time zone of these hours, such as Europe/Berlin (this machine’s)' },
    because: becauseOption,
    'dry-run': dryRunOption,
  },
  notes: [
    'page: money or custody is at risk, told at once and again. act: somebody waits. know: it can wait; also a new',
    'member of a store, and a key that was made or revoked.',
    'The secret file holds, by kind:',
    ...channelKinds.map((kind) => `  ${kind}: ${secretFiles[kind]}`),
  ],
  async run(input, { config, database, clock }) {
    const kind = channelKinds.find((one) => one === input.args[0]);
    if (!kind) throw usage(`"${input.args[0]}" is no kind of target, expected ${channelKinds.join(' or ')}`);
    const address = readTarget(kind, input);
    const storeId = textOption(input, 'store') ?? null;
    if (storeId !== null && !(await database.findStore(storeId))) {
      throw notFound(`there is no store ${storeId}; \`quayside store list\` shows all`);
    }
    const rest = { afterMinutes: afterOf(input), ...hoursOf(input) };
    const settings = { name: nameOf(input, kind), severities: severitiesOf(input), storeId, ...rest };
    const isOn = (option: string): boolean => input.options[option] === true;
    const told = { showsDetails: isOn('details'), payments: isOn('payments') && !isDead(kind) };
    if (isOn('dry-run')) {
      return {
        json: { dry_run: true, kind, payments: told.payments, ...settings },
        lines: [`${settings.name} (${kind}) would be sent a code`],
      };
    }
    if ((await database.listNoticeTargets()).length >= TARGETS_MAX) {
      throw usage(`there are ${TARGETS_MAX} targets already; \`quayside notify remove <id>\` removes one`);
    }
    const target = newTarget({ kind, address, ...told, ...settings }, clock.nowMs());
    const { id } = target;
    const answer = await sendCode({ send: createSend(createUrlGuard(config.webhooks.allowCidrs)), clock }, target);
    if (!answer.ok) throw refusal(kind, answer);
    await database.addNoticeTarget(target, operatorAct(notifyAdd, input, clock));
    const secret = kind === 'webhook' ? (JSON.parse(address) as { secret: string }).secret : null;
    return {
      json: { id, kind, name: settings.name, answer: shownAnswer(answer), proved: isDead(kind), secret },
      lines: [
        `${id} was added; the service answered ${answer.status ?? ''} ${answer.text}`.trimEnd(),
        ...(secret === null ? [] : [`messages are signed with ${secret}, which is not shown again`]),
        isDead(kind)
          ? 'It is called each minute, unless an alarm of the severity page is open.'
          : `Nothing more is sent until you run \`quayside notify prove ${id} CODE\` with the code that has arrived.`,
      ],
    };
  },
};

export const notifyProve: Command = {
  name: 'notify prove',
  args: ['id', 'code'],
  summary: 'Prove that messages to a target arrive: type the code that came. From then on it is informed about alarms.',
  options: { because: becauseOption },
  async run(input, { database, clock }) {
    const [id = '', code = ''] = input.args;
    const proved = await database.proveNoticeTarget(id, code.trim(), operatorAct(notifyProve, input, clock));
    if (proved === null) throw unknown(id);
    if (proved === 'too_many') {
      throw permanent('code_refused', `too many wrong codes: run \`quayside notify remove ${id}\`, and add it again`);
    }
    if (proved === 'wrong') throw permanent('code_refused', `this is not the code that was sent to ${id}; look again`);
    return { json: { id, proved: true }, lines: [`${id} is proved, and is informed about alarms from now on`] };
  },
};

export const notifyTest: Command = {
  name: 'notify test',
  args: ['id'],
  summary: 'Send a message of each severity to a target now, and show what the service answers.',
  options: {},
  async run(input, { config, database, clock }) {
    const target = await findTarget(database, input.args[0] ?? '');
    if (target.provedAtMs === null) {
      throw permanent(
        'not_proved',
        `${target.id} gets only its code until you run \`quayside notify prove ${target.id} CODE\``,
      );
    }
    const send = createSend(createUrlGuard(config.webhooks.allowCidrs));
    const answers = await sendTestNotices({ database, send, clock }, target);
    if (answers === null) throw unknown(target.id);
    return {
      json: answers.map(({ severity, ms, ...answer }) => ({ severity, ms, ...shownAnswer(answer) })),
      lines: table(
        answers.map(({ severity, ok, status, text, ms }) => [
          severity,
          ok ? 'taken' : 'refused',
          String(status ?? 'no answer'),
          `${ms} ms`,
          text,
        ]),
      ),
      isBad: answers.some(({ ok }) => !ok),
    };
  },
};

export const notifyList: Command = {
  name: 'notify list',
  args: [],
  summary: 'List who is informed about alarms, and whether messages arrive.',
  options: {},
  async run(_input, { database }) {
    const targets = await database.listNoticeTargets();
    const rows = targets.map((one) => [one.id, one.kind, one.name, toldText(one), stateOf(one), hoursText(one)]);
    const lines = table([['ID', 'KIND', 'NAME', 'TOLD', 'STATE', 'HOURS'], ...rows]);
    return {
      json: targets.map(shown),
      lines: targets.length === 0 ? ['nobody is informed about alarms; see `quayside notify add --help`'] : lines,
    };
  },
};

export const notifyRemove: Command = {
  name: 'notify remove',
  args: ['id'],
  summary: 'Stop telling a target of alarms, and forget its secrets.',
  options: { because: becauseOption, 'dry-run': dryRunOption },
  async run(input, { database, clock }) {
    const { id, name } = await findTarget(database, input.args[0] ?? '');
    const isDryRun = input.options['dry-run'] === true;
    if (!isDryRun) await database.removeNoticeTarget(id, operatorAct(notifyRemove, input, clock));
    return { json: { id, removed: !isDryRun }, lines: [`${name} (${id}) ${isDryRun ? 'would be' : 'was'} removed`] };
  },
};

function refusal(kind: ChannelKind, { status, text }: Delivered) {
  const said = status === null ? `could not be reached: ${text}` : `answered ${status}: ${text}`;
  return permanent(
    'target_refused',
    `the service ${said}. Nothing was saved; correct it and run \`quayside notify add ${kind}\` again`,
  );
}

const shownAnswer = ({ ok, status, text }: Delivered) => ({ ok, status, text });

const unknown = (id: string) => notFound(`there is no target ${id}; \`quayside notify list\` shows all`);

export async function findTarget(database: Pick<Database, 'listNoticeTargets'>, id: string): Promise<NoticeTarget> {
  const found = (await database.listNoticeTargets()).find((one) => one.id === id);
  if (!found) throw unknown(id);
  return found;
}

function nameOf(input: Input, kind: ChannelKind): string {
  const name = textOption(input, 'name')?.trim() ?? kind;
  if (name === '' || name.length > TARGET_NAME_CHARS_MAX)
    throw usage(`--name must have 1 to ${TARGET_NAME_CHARS_MAX} characters`);
  return name;
}

function afterOf(input: Input): number {
  const text = textOption(input, 'after') ?? '0';
  if (/^\d{1,4}$/.test(text) && Number(text) <= AFTER_MINUTES_MAX) return Number(text);
  throw usage(`--after is "${text}", expected minutes from 0 to ${AFTER_MINUTES_MAX}`);
}

function severitiesOf(input: Input): readonly Severity[] {
  const named = (textOption(input, 'severities') ?? 'page,act').split(',');
  const known = severities.filter((one) => named.includes(one));
  if (known.length === named.length) return known;
  throw usage(`--severities is "${named.join(',')}", expected some of ${severities.join(',')}`);
}

function hoursOf(input: Input): Readonly<{ quiet: QuietHours | null; digestMinute: number | null; zone: string }> {
  const text = textOption(input, 'zone') ?? new Intl.DateTimeFormat().resolvedOptions().timeZone;
  const zone = readZone(text);
  if (zone === null) throw usage(`--zone is "${text}", which is no time zone; one is Europe/Berlin`);
  const minuteOf = (option: string, text: string): number => {
    const minute = readMinute(text);
    if (minute === null) throw usage(`--${option} names "${text}", expected a time of day such as 08:00`);
    return minute;
  };
  const quiet = textOption(input, 'quiet');
  const digest = textOption(input, 'digest');
  const [from = '', to = ''] = quiet?.split('-') ?? [];
  return {
    quiet: quiet === undefined ? null : { from: minuteOf('quiet', from), to: minuteOf('quiet', to) },
    digestMinute: digest === undefined ? null : minuteOf('digest', digest),
    zone,
  };
}

const toldText = ({ severities, payments }: NoticeTarget): string =>
  [...severities, ...(payments ? ['payments'] : [])].join(',');

function stateOf(target: NoticeTarget): string {
  const { provedAtMs, failingSinceMs, lastError, waiting, pausedAtMs, pausedBy } = target;
  if (provedAtMs === null) return 'waits for its code';
  if (pausedAtMs !== null) return `paused since ${moment(pausedAtMs)} by ${pausedBy}, ${waiting} to be told`;
  if (failingSinceMs !== null) return `fails since ${moment(failingSinceMs)} (${lastError})`;
  return waiting === 0 ? 'proved' : `proved, ${waiting} to be told`;
}

function hoursText({ quiet, digestMinute, afterMinutes, zone }: NoticeTarget): string {
  const parts = [
    ...(afterMinutes === 0 ? [] : [`unacknowledged for ${afterMinutes} min`]),
    ...(quiet ? [`quiet ${showMinute(quiet.from)}-${showMinute(quiet.to)}`] : []),
    ...(digestMinute === null ? [] : [`digest ${showMinute(digestMinute)}`]),
  ];
  return parts.length === 0 ? '-' : `${parts.join(', ')} ${zone}`;
}

const shown = (target: NoticeTarget) => ({
  id: target.id,
  kind: target.kind,
  name: target.name,
  severities: target.severities,
  store: target.storeId,
  details: target.showsDetails,
  payments: target.payments,
  quiet: target.quiet && `${showMinute(target.quiet.from)}-${showMinute(target.quiet.to)}`,
  digest: target.digestMinute === null ? null : showMinute(target.digestMinute),
  after_minutes: target.afterMinutes,
  zone: target.zone,
  proved: target.provedAtMs !== null,
  failing_since: target.failingSinceMs === null ? null : moment(target.failingSinceMs),
  last_error: target.lastError,
  last_sent: target.lastSentAtMs === null ? null : moment(target.lastSentAtMs),
  paused_at: target.pausedAtMs === null ? null : moment(target.pausedAtMs),
  paused_by: target.pausedBy,
  waiting: target.waiting,
});
