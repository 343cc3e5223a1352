/**
 * The part of `status` about payouts: what waits and why, what the wallets hold, and what is frozen.
 */

import { coinText } from '../../src/chains/coin-text.ts';
import { chains } from '../../src/chains/index.ts';
import type { Config } from '../../src/config/config.ts';
import type { Asset } from '../../src/core/ledger.ts';
import { unreadMinutes } from '../../src/core/wallet-books.ts';
import { type Installation, moment } from './command.ts';
import { freezeText, signerState } from './payout-freeze.ts';
import { table } from './table.ts';

const open = ['waiting', 'sent', 'stuck'];

/** Returns what `status` prints about payouts; no lines if there never was one. */
export async function payoutStatus({ database, config, clock }: Installation) {
  const nowMs = clock.nowMs();
  const [engines, stats, balances, freezes] = await Promise.all([
    database.engines.list(),
    database.payouts.stats(),
    database.wallets.balances(),
    database.holds.list(),
  ]);
  const signer = config.signer ? await signerState(config.signer.dir) : [];
  const openCount = stats.counts.filter(({ state }) => open.includes(state)).reduce((sum, one) => sum + one.count, 0);
  const waits = stats.waiting.map(({ network, code, count, oldestAtMs }) => ({
    network,
    reason: code,
    payouts: count,
    oldest_s: Math.max(0, Math.floor((nowMs - oldestAtMs) / 1000)),
  }));
  const wallets = balances.map(({ network, role, key, isFormer, units, low, readAtMs }) => ({
    network,
    wallet: role,
    former: isFormer === true,
    address: addressOf(config, network, key),
    holds: Object.entries(units).map(([asset, value]) => coinText(config.networks, network, asset as Asset, value)),
    low,
    read_at: moment(readAtMs),
    unread_minutes: unreadMinutes(readAtMs, nowMs),
  }));
  return {
    json: {
      open: openCount,
      has_signer: config.signer !== null,
      signer_frozen: signer.length === 0 ? null : signer.join(' '),
      engines: engines.map(({ network, reason }) => ({ network, reason })),
      waiting: waits,
      wallets,
      frozen: freezes.map(({ frozenBy, sinceMs, ...freeze }) => ({
        ...freeze,
        frozen_by: frozenBy,
        since: moment(sinceMs),
      })),
    },
    lines: [
      ...freezes.map((one) => `money out is FROZEN: ${freezeText(one)}`),
      ...(freezes.length > 0 || openCount > 0 ? signer : []),
      ...(openCount === 0 ? [] : [`payouts open: ${openCount}`]),
      ...(openCount > 0 && !config.signer
        ? ['  they cannot be signed: the configuration has no `signer` (docs/money.md)']
        : []),
      ...waits.map(
        ({ network, reason, payouts, oldest_s }) =>
          `  ${network}: ${payouts} ${reason ? `waiting (${reason})` : 'in progress'}, the oldest for ${oldest_s} s`,
      ),
      ...engines.flatMap(({ network, reason }) =>
        reason ? [`  payouts on ${network} are stopped: ${reason.code}: ${reason.message}`] : [],
      ),
      ...table(
        wallets.map(({ network, wallet, former, address, holds, low, unread_minutes }) => [
          `  ${network}`,
          `${former ? 'former ' : ''}${wallet} wallet`,
          address,
          holds.join(', '),
          [
            low.length > 0 ? `LOW: ${low.join(', ')}` : '',
            unread_minutes === null ? '' : `NOT READ for ${unread_minutes} min, so not compared with the books`,
          ]
            .filter(Boolean)
            .join('; '),
        ]),
      ),
    ],
  };
}

/** Returns an address as people write it; its key where the network is not configured any more. */
function addressOf({ networks }: Config, network: string, key: string): string {
  const family = networks.find((one) => one.key === network)?.family;
  return family ? chains[family].address.format(key) : key;
}
