/**
 * Shows and rotates the secrets that sign webhooks: of an endpoint, or of a store in one mode.
 */

import { modes } from '../../src/acts/keys.ts';
import { permanent } from '../../src/core/fault.ts';
import type { RotationOutcome, RotationStep, WebhookSecret } from '../../src/database/webhook-secrets.ts';
import { newWebhookSecret } from '../../src/lib/id.ts';
import {
  type Command,
  choiceOption,
  dryRunOption,
  type Input,
  moment,
  notFound,
  operatorAct,
  reasonOption,
  usage,
} from './command.ts';

const modeOption = { choices: modes, help: 'of a store, which has a secret for each mode (live)' };
const readMode = (input: Input) => choiceOption(input, 'mode', modes, 'live');

export const webhooksSecret: Command = {
  name: 'webhook secret',
  args: ['endpoint'],
  summary: 'Print the secret that signs for an endpoint; --rotate replaces it, with both valid until --finish.',
  options: {
    mode: modeOption,
    rotate: { help: 'make a new secret and print it' },
    finish: { help: 'the receiver has the new secret: the old one ends' },
    cancel: { help: 'keep the old secret: the new one ends' },
    reason: reasonOption,
    'dry-run': dryRunOption,
  },
  notes: [
    'Until a rotation is finished, `X-Service-Signature` is made with the old secret, and `webhook-signature` holds one',
    'signature with each.',
    'Instead of an endpoint, a store can be named: its secrets sign for the `webhook_url` of single sessions.',
  ],
  async run(input, { database, clock }) {
    const id = input.args[0] ?? '';
    const step = readStep(input);
    if (step === null) {
      const found = await database.findWebhookSecret(id, readMode(input));
      if (!found) throw unknownOwner(id);
      return { json: shown(found), lines: describe(found) };
    }
    const isDryRun = input.options['dry-run'] === true;
    const act = operatorAct(webhooksSecret, input, clock);
    const outcome = await database.rotateWebhookSecret({ id, mode: readMode(input), step, act, isDryRun });
    if (outcome.kind !== 'done') throw refusal(id, outcome.kind);
    const done = { start: 'rotation started', finish: 'rotation finished', cancel: 'rotation canceled' }[step.kind];
    const lines =
      isDryRun && step.kind === 'start'
        ? [`${id}: a new secret would be made`]
        : [`${id}: ${done}`, ...describe(outcome.secret)];
    return {
      json: { ...shown(outcome.secret), ...(isDryRun && { next_webhook_secret: null }), dry_run: isDryRun },
      lines: isDryRun ? ['nothing was changed; this is what would be:', ...lines] : lines,
    };
  },
};

/** Returns which step of a rotation is wanted; null for none. */
function readStep({ options }: Input): RotationStep | null {
  const [step, another] = (['rotate', 'finish', 'cancel'] as const).filter((name) => options[name]);
  if (another) throw usage('name one of --rotate, --finish and --cancel');
  if (step === undefined) return null;
  return step === 'rotate' ? { kind: 'start', secret: newWebhookSecret() } : { kind: step };
}

function describe({ owner, mode, secret, nextSecret, rotatedAtMs }: WebhookSecret): string[] {
  const isEndpoint = owner.startsWith('we_');
  const whose = isEndpoint ? `endpoint ${owner}` : `store ${owner}, ${mode} mode`;
  const command = `quayside webhook secret ${owner}${isEndpoint ? '' : ` --mode ${mode}`}`;
  if (nextSecret === null) return [`webhook secret ${secret}`, `It is the secret of ${whose}.`];
  return [
    `webhook secret ${secret}`,
    `next secret    ${nextSecret}`,
    `They are the secrets of ${whose}; the rotation started at ${moment(rotatedAtMs)}.`,
    'Let the receiver accept both: until the end, X-Service-Signature is made with the first, and webhook-signature with each.',
    `Once it does, run: ${command} --finish`,
  ];
}

const unknownOwner = (id: string) =>
  notFound(
    `there is no endpoint or store ${id}; \`quayside webhook list\` shows endpoints, \`quayside store list\` stores`,
  );

function refusal(id: string, kind: Exclude<RotationOutcome['kind'], 'done'>) {
  switch (kind) {
    case 'unknown':
      return unknownOwner(id);
    case 'one_off':
      return permanent(
        'one_off',
        `${id} was named by single sessions, and its store’s secret signs for it. Rotate that one: \`quayside webhook ` +
          'secret <store> --mode <mode> --rotate`; `quayside webhook list` shows the store and the mode',
      );
    case 'under_way':
      return permanent(
        'under_way',
        `a rotation of ${id} is under way; end it with \`quayside webhook secret ${id} --finish\` or --cancel`,
      );
    case 'not_under_way':
      return permanent(
        'not_under_way',
        `no rotation of ${id} is under way; \`quayside webhook secret ${id} --rotate\` starts one`,
      );
  }
}

const shown = ({ owner, mode, secret, nextSecret, rotatedAtMs }: WebhookSecret) => ({
  owner,
  mode,
  webhook_secret: secret,
  next_webhook_secret: nextSecret,
  rotated_at: rotatedAtMs === null ? null : moment(rotatedAtMs),
});
