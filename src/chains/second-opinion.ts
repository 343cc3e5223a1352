/**
 * The second opinion on a payout before it is broadcast. The chain's own SDK reads the signed bytes, and the result is
 * compared with the order. The SDK shares no code with the encoders of the signer.
 */
import type { Attempt } from '../core/payout.ts';
import type { Terms } from '../core/spend.ts';
import type { Token } from '../core/transfer.ts';
import type { SpendDraft, SpendReading } from './spend.ts';

/** Signed bytes according to an SDK. */
export type SdkReading = Pick<SpendReading, 'tx' | 'chainId' | 'signers' | 'effects'> &
  Readonly<{
    /** Terms that the bytes state: nonce, expiry, fees. */
    terms: Terms;
  }>;

/**
 * Reads signed bytes with the SDK.
 * @param payee key of the payee, for chains whose transfers name accounts that are derived from it
 * @throws anything for bytes that are not one of our payouts
 */
export type ReadBySdk = (bytes: Uint8Array, tokens: readonly Token[], payee: string) => SdkReading;

type OrderedSpend = Readonly<{
  draft: SpendDraft;
  attempt: Pick<Attempt, 'tx' | 'terms'> & Readonly<{ bytes: Uint8Array }>;
  chainId: string;
  tokens: readonly Token[];
}>;

type Effect = SpendReading['effects'][number];

function orderedEffects({ intent, owners, to, token, payer }: SpendDraft): Effect[] {
  const from = (at: number): string => owners[at] ?? '';
  switch (intent.kind) {
    case 'refund':
    case 'return':
      return [{ token: token?.address ?? null, from: from(0), to, units: intent.units }];
    case 'sweep':
      return intent.from.map(({ units }, at) => ({ token: token?.address ?? null, from: from(at), to, units }));
    case 'gas':
      return [intent.form === 'reclaim' ? [to, payer] : [payer, to]].map(([giver = '', taker = '']) => ({
        token: null,
        from: giver,
        to: taker,
        units: intent.units,
      }));
  }
}

const textOf = (effects: readonly Effect[]): string =>
  effects
    .map(({ token, from, to, units }) => `${units} units of ${token ?? 'native coin'} from ${from} to ${to}`)
    .sort()
    .join(', ');

/** Returns how the signed bytes differ from the order, one sentence each; none if they agree. */
export function differencesFrom({ draft, attempt, chainId, tokens }: OrderedSpend, read: ReadBySdk): string[] {
  let reading: SdkReading;
  try {
    reading = read(attempt.bytes, tokens, draft.to);
  } catch (error) {
    return [`the SDK cannot read it: ${error instanceof Error ? error.message : String(error)}`];
  }
  const { terms } = reading;
  const pairs: (readonly [what: string, read: string | null, ordered: string | null])[] = [
    ['transaction id', reading.tx, attempt.tx],
    ['payer', reading.signers[0] ?? null, draft.payer],
    ['transfers', textOf(reading.effects), textOf(orderedEffects(draft))],
    ...Object.keys(terms).map((name) => [name, terms[name] ?? null, attempt.terms[name] ?? null] as const),
  ];
  if (reading.chainId !== null) pairs.push(['chain id', reading.chainId, chainId]);
  return pairs
    .filter(([, is, ordered]) => is !== ordered)
    .map(([what, is, ordered]) => `${what}: ${is} instead of ${ordered}`);
}
