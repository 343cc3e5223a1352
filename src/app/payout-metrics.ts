/**
 * Metrics of money out for Prometheus.
 */
import type { Gauge } from 'prom-client';
import { chains } from '../chains/index.ts';
import type { Config } from '../config/config.ts';
import type { Asset } from '../core/ledger.ts';
import { formatUnits } from '../core/money.ts';
import type { Database } from '../database/database.ts';

type MakeGauge = <L extends string>(name: string, help: string, labelNames?: readonly L[]) => Gauge<L>;

export function createPayoutMetrics(gauge: MakeGauge, { networks }: Pick<Config, 'networks'>) {
  const count = gauge('payouts', 'Payouts by kind and state.', ['kind', 'state']);
  const waiting = gauge('payouts_waiting', 'Open payouts by what they wait for; "none" for those under way.', [
    'network',
    'reason',
  ]);
  const oldest = gauge('payout_oldest_wait_seconds', 'Age of the oldest open payout, by what it waits for.', [
    'network',
    'reason',
  ]);
  const stopped = gauge('payout_engine_stopped', '1 while a network pays nothing out, by reason.', [
    'network',
    'reason',
  ]);
  const frozen = gauge('payouts_frozen', '1 while money out is frozen; network "" stands for every network.', [
    'network',
  ]);
  const balance = gauge('wallet_balance', 'What the refund and gas wallets hold, in whole coins.', [
    'network',
    'wallet',
    'asset',
  ]);
  const low = gauge('wallet_low', '1 while a wallet needs more of an asset.', ['network', 'wallet', 'asset']);

  const unswept = gauge(
    'unswept',
    'What deposit addresses held at the last reading, in whole coins; part "open" is on its way to the treasury.',
    ['network', 'currency', 'part'],
  );

  function decimalsOf(key: string, asset: Asset): number | null {
    const network = networks.find((one) => one.key === key);
    if (!network) return null;
    if (asset === 'native') return chains[network.family].spendRules.nativeDecimals;
    return network.tokens.find(({ symbol }) => symbol === asset)?.decimals ?? null;
  }

  return {
    async read(
      database: Pick<Database, 'payoutStats' | 'listEngines' | 'listFreezes' | 'listBalances' | 'listUnswept'>,
      nowMs: number,
    ): Promise<void> {
      for (const one of [count, waiting, oldest, stopped, frozen, balance, low, unswept]) one.reset();
      const stats = await database.payoutStats();
      for (const { kind, state, count: number } of stats.counts) count.set({ kind, state }, number);
      for (const { network, code, count: number, oldestAtMs } of stats.waiting) {
        waiting.set({ network, reason: code ?? 'none' }, number);
        oldest.set({ network, reason: code ?? 'none' }, Math.max(0, nowMs - oldestAtMs) / 1000);
      }
      for (const { network, reason } of await database.listEngines()) {
        if (reason) stopped.set({ network, reason: reason.code }, 1);
      }
      for (const { network } of await database.listFreezes()) frozen.set({ network: network ?? '' }, 1);
      for (const { network, role, isFormer, units, low: assets } of await database.listBalances()) {
        // Several former ones would be one series.
        if (isFormer) continue;
        const wallet = role;
        for (const [asset, value] of Object.entries(units)) {
          const decimals = decimalsOf(network, asset as Asset);
          if (decimals === null) continue;
          balance.set({ network, wallet, asset }, wholeCoins(value, decimals));
        }
        for (const asset of assets) low.set({ network, wallet, asset }, 1);
      }
      for (const { network, currency, units, openUnits } of await database.listUnswept()) {
        const decimals = decimalsOf(network, currency);
        if (decimals === null) continue;
        unswept.set({ network, currency, part: 'resting' }, wholeCoins(units, decimals));
        unswept.set({ network, currency, part: 'open' }, wholeCoins(openUnits, decimals));
      }
    },
  };
}

/** Returns an approximation for graphs; the exact amount is in `status`. */
function wholeCoins(value: bigint, decimals: number): number {
  const text = formatUnits(value, decimals);
  return Number(text);
}
