/**
 * The policy in force as other processes may see it: one line of text for each setting, with the defaults that apply.
 * It has nothing secret: addresses, amounts, and approvers' public keys.
 * @module
 */
import { chains } from '../chains/index.ts';
import { formatUnits } from '../core/money.ts';
import type { Currency } from '../core/transfer.ts';
import type { NetworkPolicy, Policy } from './policy.ts';

/** Settings by their paths, such as `live:ethereum caps.USDT.day`: amounts in whole coins. */
export type PolicyReport = Readonly<Record<string, string>>;

export function reportPolicy({ networks, approvers }: Policy): PolicyReport {
  const report: Record<string, string> = {};
  for (const { name, key } of approvers) report[`approver ${key}`] = name;
  for (const network of networks) {
    for (const [setting, value] of settingsOf(network)) report[`${network.key} ${setting}`] = value;
  }
  return report;
}

function settingsOf({ family, spend, caps, ...own }: NetworkPolicy): (readonly [string, string])[] {
  const { gasCaps, feeCaps, countCaps, walletIndices } = own;
  const { address, spendRules } = chains[family];
  const native = (units: bigint) => formatUnits(units, spendRules.nativeDecimals);
  const ofTokens = spend.tokens.flatMap(({ symbol, address: contract, decimals }) => {
    const show = (units: bigint) => formatUnits(units, decimals);
    const cap = caps[symbol as Currency];
    return [
      [`tokens.${symbol}`, `${contract}, ${decimals} decimals`],
      ...(cap
        ? [
            [`caps.${symbol}.transaction`, show(cap.transactionUnits)],
            [`caps.${symbol}.hour`, show(cap.hourUnits)],
            [`caps.${symbol}.day`, show(cap.dayUnits)],
          ]
        : []),
    ] as [string, string][];
  });
  return [
    ['family', family],
    ['chain_id', spend.chainId],
    ['treasury', address.format(spend.treasury)],
    ['fee_max', native(spend.feeUnitsMax)],
    ...ofTokens,
    ['gas_caps.transaction', native(gasCaps.transactionUnits)],
    ['gas_caps.day', native(gasCaps.dayUnits)],
    ['fee_caps.hour', native(feeCaps.hourUnits)],
    ['fee_caps.day', native(feeCaps.dayUnits)],
    ['count_caps.hour', String(countCaps.hour)],
    ['count_caps.day', String(countCaps.day)],
    ['wallets.refund', String(walletIndices.refund)],
    ['wallets.gas', String(walletIndices.gas)],
  ];
}
