/** The settings of a store that the operator alone changes. */
import type { NetworkConfig } from '../config/network.ts';
import type { CreditTier } from '../core/credit-policy.ts';
import { parseStoreCredit, storeCreditExample } from '../core/store-credit.ts';
import { type Refusal, refuse, type Sentence, say } from './act.ts';
import { LOGO_BYTES_MAX, readLogo } from './logo.ts';
import { cents, choice, isNone, logoHash, type StoreSetting, wrong } from './store-settings.ts';

/** Beginning of the hash by which a logo is known. */
const LOGO_NAME_CHARS = 8;

export const operatorSettings: readonly StoreSetting[] = [
  {
    name: 'logo',
    key: 'logo',
    isOperators: true,
    isFile: 'base64',
    label: say('Logo'),
    help: `a PNG of at most ${LOGO_BYTES_MAX / 1024} KiB, shown 40 pixels high beside the name`,
    value: 'FILE|none',
    read: (text) => (isNone(text) ? null : readLogo(text)),
    write: ({ logo }) => (logoHash(logo) ?? '').slice(0, LOGO_NAME_CHARS),
  },
  {
    name: 'credit',
    key: 'credit',
    isOperators: true,
    label: say('What credits need'),
    help: `what payments need besides the networks’ confirmations, such as ${storeCreditExample}`,
    value: 'RULES|none',
    read(text) {
      const rules = text.replaceAll(' ', '');
      if (isNone(rules)) return '';
      if (parseStoreCredit(rules)) return rules;
      return say(
        '"{rules}" are no rules: write NETWORK=CONDITION or NETWORK=CONDITION@AMOUNT with commas between them, such as {example}; a condition is a number of blocks, finalized or second-node',
        { rules, example: storeCreditExample },
      );
    },
    write: ({ credit }) => credit || 'none',
  },
  {
    ...choice(
      {
        name: 'refundToSender',
        key: 'refundToSender',
        label: say('Refunds may go to the sending address'),
      },
      ['yes', 'no'],
    ),
    isOperators: true,
    read: (text) =>
      text === 'yes' || text === 'no' ? text === 'yes' : wrong(say('Refunds may go to the sending address'), text),
    write: ({ refundToSender }) => (refundToSender ? 'yes' : 'no'),
  },
  {
    ...cents({
      name: 'refundEarlyMax',
      key: 'refundEarlyMaxMinor',
      label: say('Refunds before a payment is final'),
    }),
    isOperators: true,
  },
];

/** Returns why a store's rules cannot be met on the configured networks. */
export function creditObstacle(networks: readonly NetworkConfig[], text: string): Refusal | null {
  for (const tier of parseStoreCredit(text) ?? []) {
    const named = networks.filter(({ name }) => name === tier.network);
    const none = say('no such network is configured');
    const why = named.length === 0 ? none : named.flatMap((one) => obstaclesOf(one, tier))[0];
    const because = why && say('it names {network}: {why}', { network: tier.network, why });
    if (because) return { ...refuse('usage', because), field: 'credit' };
  }
  return null;
}

function obstaclesOf({ key, finalityUrl, witnessUrl, reorgDepthMax }: NetworkConfig, tier: CreditTier): Sentence[] {
  if (tier.finality && finalityUrl === null)
    return [say('{key} shows no final blocks, because its solid_url is null', { key })];
  if (tier.secondNode && witnessUrl === undefined)
    return [say('{key} has no second node; set its witness_url first', { key })];
  const blocks = tier.blocks ?? 0;
  return blocks > reorgDepthMax
    ? [say('{blocks} blocks are more than reorg_depth_max ({most}) of {key}', { blocks, most: reorgDepthMax, key })]
    : [];
}
