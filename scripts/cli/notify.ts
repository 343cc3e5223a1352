/**
 * Manages who is informed about alarms.
 */
import { permanent } from '../../src/core/fault.ts';
import { type Severity, severities } from '../../src/core/notice.ts';
import type { Database } from '../../src/database/database.ts';
import {
  type ChannelKind,
  channelKinds,
  type NoticeTarget,
  TARGET_NAME_CHARS_MAX,
  TARGETS_MAX,
} from '../../src/database/notices.ts';
import { createUrlGuard } from '../../src/lib/guard.ts';
import type { Delivered } from '../../src/notifications/channels.ts';
import { newTarget, sendCode } from '../../src/notifications/new-target.ts';
import { createSend } from '../../src/notifications/post.ts';
import { sendTestNotice } from '../../src/notifications/test-notice.ts';
import {
  type Command,
  dryRunOption,
  type Input,
  moment,
  notFound,
  operatorAct,
  reasonOption,
  textOption,
  usage,
} from './command.ts';
import { readTarget, secretFiles } from './notify-address.ts';
import { table } from './table.ts';

const isDead = (kind: ChannelKind): boolean => kind === 'dead-man';

export const notifyAdd: Command = {
  name: 'notify add',
  args: ['kind'],
  summary: `Inform somebody about alarms: ${channelKinds.join(', ')}. A code is sent, which \`notify prove\` asks for.`,
  options: {
    'secret-file': { value: 'FILE', help: 'what must stay secret, see below; - reads standard input' },
    name: { value: 'NAME', help: 'what you call it (its kind)' },
    to: { value: 'WHO', help: 'the e-mail address, or the id of the Telegram chat' },
    from: { value: 'ADDRESS', help: 'the sender’s e-mail address' },
    smtp: { value: 'URL', help: 'the mail server: smtps://HOST[:465] (TLS), smtp://HOST[:587] (STARTTLS)' },
    user: { value: 'USER', help: 'the user at the mail server' },
    server: { value: 'URL', help: 'another server than api.telegram.org or ntfy.sh' },
    severity: { value: 'LEAST', help: `alarms of this severity and worse: ${severities.join(', ')} (act)` },
    reason: reasonOption,
    'dry-run': dryRunOption,
  },
  notes: [
    'page: money or custody is at risk. act: somebody waits. know: it can wait.',
    'The secret file holds, by kind:',
    ...channelKinds.map((kind) => `  ${kind}: ${secretFiles[kind]}`),
  ],
  async run(input, { config, database, clock }) {
    const kind = channelKinds.find((one) => one === input.args[0]);
    if (!kind) throw usage(`"${input.args[0]}" is no kind of target, expected ${channelKinds.join(' or ')}`);
    const address = readTarget(kind, input);
    const settings = { name: nameOf(input, kind), severity: severityOf(input) };
    if (input.options['dry-run'] === true) {
      return {
        json: { dry_run: true, kind, ...settings },
        lines: [`${settings.name} (${kind}) would be sent a code`],
      };
    }
    if ((await database.notices.listTargets()).length >= TARGETS_MAX) {
      throw usage(`there are ${TARGETS_MAX} targets already; \`quayside notify remove <id>\` removes one`);
    }
    const target = newTarget({ kind, address, ...settings }, clock.nowMs());
    const { id } = target;
    const answer = await sendCode({ send: createSend(createUrlGuard(config.webhooks.allowCidrs)), clock }, target);
    if (!answer.ok) throw refusal(kind, answer);
    await database.notices.addTarget(target, operatorAct(notifyAdd, input, clock));
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
  options: { reason: reasonOption },
  async run(input, { database, clock }) {
    const [id = '', code = ''] = input.args;
    const proved = await database.notices.proveTarget(id, code.trim(), operatorAct(notifyProve, input, clock));
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
  summary: 'Send a test message to a target now, and show what the service answers.',
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
    const answer = await sendTestNotice({ database, send, clock }, target);
    if (answer === null) throw unknown(target.id);
    const { ok, status, text, ms } = answer;
    return {
      json: { ms, ...shownAnswer(answer) },
      lines: table([[ok ? 'taken' : 'refused', String(status ?? 'no answer'), `${ms} ms`, text]]),
      isBad: !ok,
    };
  },
};

export const notifyList: Command = {
  name: 'notify list',
  args: [],
  summary: 'List who is informed about alarms, and whether messages arrive.',
  options: {},
  async run(_input, { database }) {
    const targets = await database.notices.listTargets();
    const rows = targets.map((one) => [one.id, one.kind, one.name, one.severity, stateOf(one)]);
    const lines = table([['ID', 'KIND', 'NAME', 'SEVERITY', 'STATE'], ...rows]);
    return {
      json: targets.map(shown),
      lines: targets.length === 0 ? ['nobody is informed about alarms; see `quayside notify add --help`'] : lines,
    };
  },
};

export const notifyRemove: Command = {
  name: 'notify remove',
  args: ['id'],
  summary: 'Stop informing a target about alarms, and forget its secrets.',
  options: { reason: reasonOption, 'dry-run': dryRunOption },
  async run(input, { database, clock }) {
    const { id, name } = await findTarget(database, input.args[0] ?? '');
    const isDryRun = input.options['dry-run'] === true;
    if (!isDryRun) await database.notices.removeTarget(id, operatorAct(notifyRemove, input, clock));
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

async function findTarget(database: Pick<Database, 'notices'>, id: string): Promise<NoticeTarget> {
  const found = (await database.notices.listTargets()).find((one) => one.id === id);
  if (!found) throw unknown(id);
  return found;
}

function nameOf(input: Input, kind: ChannelKind): string {
  const name = textOption(input, 'name')?.trim() ?? kind;
  if (name === '' || name.length > TARGET_NAME_CHARS_MAX)
    throw usage(`--name must have 1 to ${TARGET_NAME_CHARS_MAX} characters`);
  return name;
}

function severityOf(input: Input): Severity {
  const text = textOption(input, 'severity') ?? 'act';
  const known = severities.find((one) => one === text);
  if (!known) throw usage(`--severity is "${text}", expected ${severities.join(' or ')}`);
  return known;
}

function stateOf({ provedAtMs, failingSinceMs, lastError }: NoticeTarget): string {
  if (provedAtMs === null) return 'waits for its code';
  return failingSinceMs === null ? 'proved' : `fails since ${moment(failingSinceMs)} (${lastError})`;
}

const shown = (target: NoticeTarget) => ({
  id: target.id,
  kind: target.kind,
  name: target.name,
  severity: target.severity,
  proved: target.provedAtMs !== null,
  failing_since: target.failingSinceMs === null ? null : moment(target.failingSinceMs),
  last_error: target.lastError,
  last_sent: target.lastSentAtMs === null ? null : moment(target.lastSentAtMs),
});
