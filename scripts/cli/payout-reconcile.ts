/**
 * Reconciles a network that stands still: adopts what the signer has signed, lists what no payout explains, and ends
 * the freeze after one yes.
 */
import {
  isEmpty,
  type ReconcileParts,
  reconcile,
  refuseUnsettled,
  type Survey,
  settledBy,
  survey,
} from '../../indexers/payouts/reconcile.ts';
import { coinText } from '../../src/chains/coin-text.ts';
import { chains } from '../../src/chains/index.ts';
import type { NetworkConfig } from '../../src/config/network.ts';
import { type Command, dryRunOption, type Installation, moment, reasonOption, recordAnswer, usage } from './command.ts';
import { networkOf, transactionsOf } from './network-name.ts';
import { adopt, withPayoutAccess } from './payouts.ts';
import { listLines } from './table.ts';
import { agree, yesOption } from './terminal.ts';

const stays = 'it stays frozen: look at what has come since, and run this command again';

export const payoutsReconcile: Command = {
  name: 'payout reconcile',
  needsSandbox: true,
  args: '<network>',
  summary: 'Let a frozen network go on: adopt what the signer has signed, show what no payout explains, and ask.',
  options: {
    tx: { value: 'TX,…', help: 'transactions that only an explorer shows: those that paid an open refund settle it' },
    reason: reasonOption,
    yes: yesOption,
    dryRun: dryRunOption,
  },
  notes: [
    'First stop every other installation of this signer. If you raised the index of a wallet since the backup, raise it in ' +
      'the signer’s policy again: nothing watches a wallet above that.',
    'A refund is settled only by what every node shows. All else is acknowledged: a refund that equals it asks first.',
  ],
  async run(input, installation) {
    const network = networkOf(installation.config.networks, input.args[0] ?? '');
    const isDryRun = input.options.dryRun === true;
    const { act } = input;
    return withPayoutAccess(network, installation, async (access) => {
      const adopted = isDryRun ? { signatures: null, added: 0 } : await adopt(network, input, installation, access);
      const { signatures, added } = adopted;
      const parts: ReconcileParts = { ...access, network: network.key, database: installation.database, act };
      const seen = await survey(parts, transactionsOf(input, 'tx', network));
      const shown = rowsOf(seen, network, installation);
      const hasMore = !isEmpty(seen);
      if (hasMore && !isDryRun) {
        await refuseUnsettled(parts, seen);
        if (act.reason === null) throw usage('--reason is required: the audit log keeps what was found out');
        await agree(input, [...causes(seen), ...listLines(shown)], 'Is this so, and may payouts go on?');
      }
      const left = isDryRun || !hasMore ? seen.freezes : await reconcile(parts, seen);
      const still_frozen = left.map(({ code, reason }) => ({ code, reason }));
      const json = { network: network.key, dry_run: isDryRun, signatures, added, unexplained: shown };
      return recordAnswer(
        { ...json, settled: settledBy(seen), still_frozen },
        [
          ...(isDryRun || left.length > 0 ? causes({ ...seen, freezes: left }) : []),
          ...(hasMore ? [] : [`nothing on ${network.key} is frozen or unexplained`]),
          ...(isDryRun ? [] : [left.length > 0 ? stays : 'payouts go on once every block of now is final and read']),
        ],
        !isDryRun && left.length > 0,
      );
    });
  },
};

type Row = Readonly<{ transaction_hash: string; seen: string; amount: string; to: string; is: string }>;

function rowsOf(seen: Survey, network: NetworkConfig, { config }: Pick<Installation, 'config'>): Row[] {
  const { format } = chains[network.family].address;
  const amount = (currency: Parameters<typeof coinText>[2], units: bigint) =>
    coinText(config.networks, network.key, currency, units);
  const is = (settles: string | null, other: string | null) =>
    settles === null ? `not ours, known${other === null ? '' : `: ${other}`}` : `pays ${settles}`;
  return [
    ...seen.transfers.map(({ transfer: one, settles, refusal }) => ({
      ...{ transaction_hash: one.tx, seen: moment(one.seenAtMs), amount: amount(one.currency, one.units) },
      ...{ to: format(one.toKey), is: is(settles, refusal) },
    })),
    ...seen.nonces.map(({ payer, from, to, isFinal }) => ({
      transaction_hash: `${to - from} transactions of ${format(payer)}`,
      ...{ seen: '', amount: '', to: '' },
      is: isFinal ? 'own cost, or shown above; name others that paid a refund with --tx' : 'not final yet',
    })),
    ...seen.named.map(({ tx, settles, refusal }) => ({
      ...{ transaction_hash: tx, seen: '', amount: '', to: '', is: is(settles, refusal) },
    })),
  ];
}

const causes = ({ freezes }: Survey): string[] =>
  freezes.map(({ reason, sinceMs }) => `frozen since ${moment(sinceMs)}: ${reason}`);
