/**
 * A store's own requirements before a payment is credited, besides the network's policy. They only ever add tiers.
 */
import type { CreditPolicy, CreditTier } from './credit-policy.ts';
import { invariant } from './fault.ts';
import { MINOR_DECIMALS, minorToPar, parseUnits } from './money.ts';

/** A tier that a store adds on the networks of a name. */
type StoreTier = CreditTier & Readonly<{ network: string }>;

/** The text form of a store's tiers: `network=condition` or `network=condition@amount`, separated by commas. */
export const storeCreditExample = 'ethereum=finalized@1000.00,bsc=30';

const RULE = /^([a-z0-9][a-z0-9-]{0,31})=(?:([1-9]\d{0,4})|(finalized)|(second-node))(?:@(\d{1,12}(?:\.\d{1,2})?))?$/;

/** Reads a store's tiers. An empty text has none. @returns null if the text is malformed */
export function parseStoreCredit(text: string): readonly StoreTier[] | null {
  const tiers = text === '' ? [] : text.split(',').map(parseTier);
  return tiers.every((tier) => tier !== null) ? tiers : null;
}

function parseTier(text: string): StoreTier | null {
  const [matched, network = '', blocks, finalized, secondNode, amount] = RULE.exec(text) ?? [];
  if (matched === undefined) return null;
  const minor = amount === undefined ? null : parseUnits(amount, MINOR_DECIMALS);
  return {
    network,
    ...(minor && { fromPar: minorToPar(minor) }),
    ...(blocks !== undefined && { blocks: Number(blocks) }),
    ...(finalized !== undefined && { finality: 'finalized' }),
    ...(secondNode !== undefined && { secondNode: true }),
  };
}

/** Returns the tiers that a store adds on the networks of a name. */
export function storeTiers(text: string, network: string): CreditPolicy {
  const tiers = parseStoreCredit(text);
  invariant(tiers, `a saved credit policy is well-formed: ${text}`);
  return tiers.flatMap(({ network: named, ...tier }) => (named === network ? tier : []));
}

/** Returns the policy for a store's payments on a network. The usual depth of finality comes from the network. */
export function policyFor(
  network: Readonly<{ name: string; confirmations: CreditPolicy }>,
  text: string,
): CreditPolicy {
  const { confirmations } = network;
  const usual = confirmations.find(({ finality }) => finality === 'finalized')?.usual;
  const own = storeTiers(text, network.name).map((tier) =>
    tier.finality === 'finalized' && usual !== undefined ? { ...tier, usual } : tier,
  );
  return [...confirmations, ...own];
}
