/**
 * The transfer for a wallet in the payer's browser, decided when it is asked for: only what is due at that moment, and
 * only on a network where the payment would be seen.
 */
import type { WalletNetwork } from '../chains/wallet.ts';
import type { BlockRef } from '../core/block.ts';
import { parToUnitsCeil } from '../core/money.ts';
import type { PaymentOption } from '../database/column-values.ts';
import type { Session } from '../database/session.ts';
import { walletTransfer } from '../payments/option.ts';
import type { PageState } from './state.ts';

/** `changed`: another amount is due, or none. `locked`: that account cannot pay. Both are keys of the page's texts. */
type TransferAnswer =
  | Readonly<{ transfer: Readonly<Record<string, unknown>> }>
  | Readonly<{ problem: 'changed' | 'locked' }>;

/** @param asked.due the amount due that the payer was shown, at par; `asked.from` is the account that pays */
export async function answerTransfer(
  network: WalletNetwork,
  session: Session,
  state: PageState,
  option: PaymentOption,
  newest: Pick<BlockRef, 'hash'> | null,
  asked: Readonly<{ due: string; from: string }>,
): Promise<TransferAnswer> {
  if (!state.isPayable || String(state.leftPar) !== asked.due || !newest) return { problem: 'changed' };
  const units = parToUnitsCeil(state.leftPar, option.decimals);
  const transfer = await walletTransfer(network, session, option, units, asked.from, newest);
  return transfer ? { transfer } : { problem: 'locked' };
}
