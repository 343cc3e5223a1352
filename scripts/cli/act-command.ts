/** A command of an act: its options, `--dry-run`, `--reason`, `--json` and its help. */
import { resolve } from 'node:path';
import {
  type Command as ActOfTool,
  type Context,
  englishOf,
  type Fact,
  type Field,
  faultOf,
  isRefusal,
  readInput,
  textOf,
} from '../../src/acts/act.ts';
import { issueEndpoint, issueKey, issueUsualStore } from '../../src/app/new-credentials.ts';
import { readApproval } from '../../src/app/refund-approvals.ts';
import { readServerFile } from '../../src/app/server-file.ts';
import { createUrlGuard } from '../../src/lib/guard.ts';
import { sortableId } from '../../src/lib/id.ts';
import { createSender } from '../../src/lib/sender.ts';
import { createDestinationCheck } from '../../src/payments/destination.ts';
import { readSmallFile } from '../../src/signer/approval-file.ts';
import { attemptLimits } from '../../src/webhooks/format.ts';
import { sendTestEvent } from '../../src/webhooks/test-event.ts';
import {
  type Command,
  dashed,
  dryRunOption,
  type Input,
  type Installation,
  reasonOption,
  requiredReason,
} from './command.ts';
import { table } from './table.ts';
import { agree, yesOption } from './terminal.ts';

/**
 * `confirms`: a person at a terminal is shown what follows, and asked.
 */
type More = Pick<Command, 'notes' | 'createsInstallation'> & Readonly<{ confirms?: true }>;

/** Returns the command that does an act. */
export function commandOf<I, P extends object>(act: ActOfTool<I, P>, more: More = {}): Command {
  const { confirms, ...described } = more;
  const fields = Object.entries<Field>(act.fields);
  const positional = fields.filter(([, { isArgument }]) => isArgument).map(([name]) => name);
  const args = fields.flatMap(([name, { isArgument }]) =>
    isArgument ? [isArgument === 'optional' ? `[${name}]` : `<${name}>`] : [],
  );
  const named = fields.filter(([name, { help }]) => help !== undefined && !positional.includes(name));
  return {
    name: act.name,
    args: args.join(' '),
    summary: act.summary,
    options: {
      ...Object.fromEntries(named),
      reason: act.needsReason ? requiredReason : reasonOption,
      dryRun: dryRunOption,
      ...(confirms && { yes: yesOption }),
    },
    ...described,
    async run(input, installation) {
      const texts = textsOf(input, positional);
      for (const [name, { isFile }] of fields) {
        const file = texts[name];
        if (isFile && file !== undefined && file !== 'none')
          texts[name] = readSmallFile(resolve(input.cwd, file), isFile);
      }
      const given = readInput(act, texts);
      const prefix = (field: string) => (positional.includes(field) ? `<${field}>` : `--${dashed(field)}`);
      if (isRefusal(given)) throw faultOf(given, prefix);
      const context = contextOf(input, installation);
      const plan = await act.plan(context, given.input);
      if (isRefusal(plan)) throw faultOf(plan, prefix);
      const { title, target, facts = [], notes = [] } = act.review(plan);
      const effects = notes.map(englishOf);
      const shown = [englishOf(title), ...factLines(facts), ...effects];
      if (input.options.dryRun === true) {
        const json = { id: target, ...jsonOf(facts), effects, dry_run: true };
        return { json, lines: [...shown, 'Nothing was changed.'] };
      }
      if (confirms && input.options.yes !== true) await agree(input, shown, 'Go on?', true);
      const ready = act.before ? await act.before(context, plan) : plan;
      if (isRefusal(ready)) throw faultOf(ready, prefix);
      const outcome = await act.run(context, ready);
      if (isRefusal(outcome)) throw faultOf(outcome, prefix);
      return {
        json: { id: target, ...outcome.json, dry_run: false },
        ...(outcome.isBad && { isBad: true }),
        lines: [
          englishOf(outcome.said),
          ...factLines(outcome.facts ?? []),
          ...(outcome.next === undefined ? [] : [`Next, run: quayside ${outcome.next}`]),
        ],
      };
    },
  };
}

/** Returns the input as texts. A switch is `yes`. */
const textsOf = (input: Input, args: readonly string[]): Record<string, string | undefined> => ({
  ...Object.fromEntries(Object.entries(input.options).map(([name, value]) => [name, value === true ? 'yes' : value])),
  ...Object.fromEntries(args.map((name, at) => [name, input.args[at]])),
});

const contextOf = (input: Input, { config, database, clock }: Installation): Context => ({
  database,
  nowMs: clock.nowMs(),
  act: input.act,
  scope: null,
  personId: null,
  networks: config.networks,
  destinationCheck: () => createDestinationCheck(config),
  readApproval: (refund, text) => readApproval({ config, database, clock }, refund, text),
  checkWebhookUrl: createUrlGuard(config.webhooks.allowCidrs).check,
  async sendTestEvent(endpoint) {
    const sender = createSender(createUrlGuard(config.webhooks.allowCidrs), attemptLimits, clock);
    return sendTestEvent({ database, sender, clock }, endpoint).finally(sender.abort);
  },
  issue: { key: issueKey, endpoint: issueEndpoint, store: issueUsualStore },
  dashboardUrl: readServerFile(config.dataDir)?.dashboard_url ?? config.dashboardUrl,
  checkoutUrl: config.checkoutUrl,
  newId: sortableId(clock.nowMs()),
});

const factLines = (facts: readonly Fact[]): string[] =>
  table(facts.map(([label, value]) => [englishOf(label), textOf(value)]));

const jsonOf = (facts: readonly Fact[]): Record<string, string> =>
  Object.fromEntries(
    facts.map(([label, value]) => [englishOf(label).toLowerCase().replaceAll(' ', '_'), textOf(value)]),
  );
