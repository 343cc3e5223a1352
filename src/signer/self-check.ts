/**
 * The last check before a signature leaves. Code that is independent of the encoder decodes the signed bytes. They must
 * do exactly what the intent says.
 */
import type { SignedSpend, SpendNetwork, SpendReading } from '../chains/spend.ts';
import { gasReceiver, type Intent, type Wallet } from '../core/intent.ts';
import { refused } from './rules.ts';

/** Address keys of the wallets that an intent concerns. */
type CheckedKeys = Readonly<{
  payer: string;
  /** All wallets that may sign it. */
  signers: readonly string[];
  of(wallet: Wallet): string;
}>;

type Effect = SpendReading['effects'][number];

/** Returns the effects that an intent must have. */
function effectsOf(intent: Intent, network: SpendNetwork, keys: CheckedKeys): Effect[] {
  const tokenOf = (symbol: string) => network.tokens.find((token) => token.symbol === symbol)?.address ?? '';
  switch (intent.kind) {
    case 'refund':
    case 'return':
      return [
        { token: tokenOf(intent.currency), from: keys.of({ role: 'refund' }), to: intent.to, units: intent.units },
      ];
    case 'sweep':
      return intent.from.map(({ index, units }) => ({
        token: tokenOf(intent.currency),
        from: keys.of({ role: 'collection', index }),
        to: network.treasury,
        units,
      }));
    case 'gas': {
      const gas = keys.of({ role: 'gas' });
      const receiver = keys.of(gasReceiver(intent));
      const [from, to] = intent.form === 'reclaim' ? [receiver, gas] : [gas, receiver];
      return [{ token: null, from, to, units: intent.units }];
    }
  }
}

const text = ({ token, from, to, units }: Effect): string => `${token}/${from}/${to}/${units}`;

const sameEffects = (some: readonly Effect[], others: readonly Effect[]): boolean =>
  some.map(text).sort().join('\n') === others.map(text).sort().join('\n');

/**
 * Compares the effects of signed bytes with the intent.
 * @throws Fault `signer_refused_check`
 */
export function checkReading(
  reading: SpendReading,
  {
    signed,
    intent,
    network,
    keys,
  }: Readonly<{ signed: SignedSpend; intent: Intent; network: SpendNetwork; keys: CheckedKeys }>,
): void {
  const deny = (what: string) =>
    refused(
      'check',
      `the bytes signed for ${intent.id} have ${what} and were discarded. This is a bug: please report it`,
    );
  if (reading.tx !== signed.tx) throw deny('another transaction id');
  if (reading.chainId !== null && reading.chainId !== network.chainId) throw deny('another chain id');
  if (reading.feeUnitsMax > network.feeUnitsMax) throw deny('a fee above fee_max in the policy');
  const [payer] = reading.signers;
  if (payer !== keys.payer) throw deny('another payer');
  if (reading.signers.some((signer) => !keys.signers.includes(signer))) throw deny('another signer');
  if (!sameEffects(reading.effects, effectsOf(intent, network, keys))) throw deny('other transfers');
}
