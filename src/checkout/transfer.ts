/**
 * What a wallet inside the payer's browser is to send, decided at the moment that it is asked for: only what is due right now, and only
 * where a payment would be seen.
 * @module
 */
import type { WalletNetwork } from '../chains/wallet.ts';
import { parToUnitsCeil } from '../core/money.ts';
import type { NetworkStatus, PaymentOption, Session } from '../database/database.ts';
import { walletTransfer } from '../payments/option.ts';
import type { PageState } from './state.ts';

/** `changed`: something else is due, or nothing. `locked`: no payment can be made from that account. Both are words of the page. */
export type TransferAnswer =
  | Readonly<{ transfer: Readonly<Record<string, unknown>> }>
  | Readonly<{ problem: 'changed' | 'locked' }>;

/** @param asked.due what the payer was shown as due, at par; `asked.from` the account that pays */
export function answerTransfer(
  network: WalletNetwork,
  session: Session,
  state: PageState,
  option: PaymentOption,
  newest: NetworkStatus['cursor'],
  asked: Readonly<{ due: string; from: string }>,
): TransferAnswer {
  if (!state.isPayable || String(state.leftPar) !== asked.due || !newest) return { problem: 'changed' };
  const units = parToUnitsCeil(state.leftPar, option.decimals);
  const transfer = walletTransfer(network, session, option, units, asked.from, newest);
  return transfer ? { transfer } : { problem: 'locked' };
}
