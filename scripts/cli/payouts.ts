/**
 * Payouts as an operator handles them: money out is frozen, a payout that does not end by itself is resolved as the
 * chain shows it, and a network that stands still is reconciled with what the signer has signed.
 */

import { type ExitParts, retry, settleNever, settlePaid } from '../../indexers/payouts/exits.ts';
import { adoptPayouts, isBehindSigner, NOT_ADOPTED } from '../../indexers/payouts/journal.ts';
import { payoutNodeOptions } from '../../indexers/payouts/nodes.ts';
import {
  isEmpty,
  type ReconcileParts,
  reconcile,
  refuseUnsettled,
  type Survey,
  settledBy,
  survey,
} from '../../indexers/payouts/reconcile.ts';
import { createPayoutWallets, type PayoutWallets } from '../../indexers/payouts/wallets.ts';
import { freezeMoneyOut, placeOf } from '../../src/acts/money-out.ts';
import { coinText } from '../../src/chains/coin-text.ts';
import { chains } from '../../src/chains/index.ts';
import type { PayoutNode, SpendRules } from '../../src/chains/spend.ts';
import type { Config } from '../../src/config/config.ts';
import type { NetworkConfig } from '../../src/config/network.ts';
import { printable } from '../../src/core/excerpt.ts';
import { permanent } from '../../src/core/fault.ts';
import { assetOf, unitsOf } from '../../src/core/ledger.ts';
import { delayOf, type Payout } from '../../src/core/payout.ts';
import type { Freeze } from '../../src/database/payouts/holds.ts';
import { openConfiguredSigner, type Signer } from '../../src/signer/client.ts';
import { commandOf } from './act-command.ts';
import {
  type Command,
  dryRunOption,
  type Input,
  type Installation,
  moment,
  notFound,
  reasonOption,
  recordAnswer,
  requiredReason,
  usage,
} from './command.ts';
import { networkOf, transactionsOf } from './networks.ts';
import { freezeLines, withSigner } from './signer-freeze.ts';
import { listLines } from './table.ts';
import { agree, yesOption } from './terminal.ts';

type PayoutAccess = Readonly<{
  node: PayoutNode;
  signer: Signer;
  wallets: PayoutWallets;
  rules: SpendRules;
}>;

/**
 * Opens the nodes and the signer of a network for `work`.
 * @throws Fault permanent `no_signer`, `no_payouts`
 */
export async function withPayoutAccess<T>(
  network: NetworkConfig,
  { config }: Pick<Installation, 'config'>,
  work: (access: PayoutAccess) => Promise<T>,
): Promise<T> {
  const { key, family, tokens } = network;
  const { payouts, spendRules: rules } = chains[family];
  if (!config.signer)
    throw permanent('no_signer', 'the configuration has no `signer`, so nothing was ever paid out here');
  if (!payouts) throw permanent('no_payouts', `nothing is paid out on ${key}`);
  const signer = openConfiguredSigner(config.signer);
  const node = (await payouts()).openPayoutNode(payoutNodeOptions(network));
  try {
    return await work({ node, signer, rules, wallets: createPayoutWallets({ network: key, tokens, rules, signer }) });
  } finally {
    await Promise.all([node.close(), signer.close()]);
  }
}

/** Adopts what the signer has signed. */
async function adopt(
  { key: network }: NetworkConfig,
  { progress }: Input,
  { database: { payouts }, clock }: Installation,
  { signer, rules }: PayoutAccess,
) {
  const onProgress = (count: number) => progress.show(`compared ${count} signatures on ${network}`);
  const adopting = adoptPayouts({ network, rules, signer, payouts, nowMs: clock.nowMs(), onProgress });
  return adopting.finally(progress.end);
}

/**
 * Adopts what the signer has signed if this database lacks some of it.
 * @throws Fault permanent `payouts_not_adopted` in a dry run, which changes nothing
 */
async function adoptIfBehind(
  network: NetworkConfig,
  input: Input,
  installation: Installation,
  access: PayoutAccess,
): Promise<void> {
  const { key } = network;
  if (!(await isBehindSigner(key, installation.database, access.signer))) return;
  const text = `the signer has signed more than is known here: run \`quayside payout reconcile ${key}\``;
  if (input.options.dryRun === true) throw permanent(NOT_ADOPTED, text);
  await adopt(network, input, installation, access);
}

const amountOf = (payout: Payout, { networks }: Config): string =>
  coinText(networks, payout.network, assetOf(payout.intent), unitsOf(payout.intent));

/** Returns a payout for programs. */
export const shownPayout = (payout: Payout, config: Config) => ({
  id: payout.id,
  kind: payout.intent.kind,
  network: payout.network,
  state: payout.state,
  amount: amountOf(payout, config),
  generation: payout.generation,
  waits_for: delayOf(payout),
  transaction_hash: payout.tx,
  fee: payout.feeUnits === null ? null : coinText(config.networks, payout.network, 'native', payout.feeUnits),
  created_at: moment(payout.createdAtMs),
  settled_at: payout.settledAtMs === null ? null : moment(payout.settledAtMs),
});

const freezing = commandOf(freezeMoneyOut, {
  notes: [
    'Transactions that nodes have already are watched to their end; those that are signed and not sent wait.',
    'Without a network, the signer is frozen too, across restarts, and an approver has to end that (`quayside-signer thaw`).',
    'With a network, it goes on serving every process that has its socket and the secret key.',
  ],
});
/** As much of a reason as the signer keeps. */
const REASON_CHARS_MAX = 200;

export const payoutsFreeze: Command = {
  ...freezing,
  async run(input, installation) {
    const { config } = installation;
    const answer = await freezing.run(input, installation);
    if (input.args.length > 0 || !config.signer || input.options.dryRun === true) return answer;
    const { operator, reason } = input.act;
    const text = printable(reason ?? '').slice(0, REASON_CHARS_MAX);
    const { isFrozen, lines } = await withSigner(config.signer.dir, (signer) => signer.freeze(text, operator)).then(
      (state) => ({ isFrozen: true, lines: freezeLines(state) }),
      ({ message }: Error) => ({
        isFrozen: false,
        lines: [`the signer was NOT frozen: ${message}`, 'Stop it where it runs.'],
      }),
    );
    const json = Object.assign({}, answer.json, { signer_frozen: isFrozen });
    return { json, lines: [...answer.lines, ...lines], isBad: !isFrozen };
  },
};

/** Describes a freeze: where, why, by whom and since when. */
export const freezeText = (freeze: Freeze): string =>
  `${placeOf(freeze)}, by ${freeze.frozenBy} since ${moment(freeze.sinceMs)}: ${freeze.reason}`;

export const payoutsResolve: Command = {
  name: 'payout resolve',
  args: '<id>',
  summary: 'Resolve a payout as the chain shows it: paid by a transaction, never paid, or to be tried again.',
  options: {
    paid: { value: 'TRANSACTION', help: 'this final transaction paid it: the refund is completed by it' },
    never: { help: 'nothing paid it, and nothing signed for it can: it fails, and its amount can be refunded again' },
    retry: { help: 'its cause is fixed: it is looked at again, or signed again where nothing has paid it or can' },
    yes: { help: 'with --paid: agree that it paid, although its record shows no payment' },
    tx: { value: 'TX,…', help: 'with --never or --retry: these transfers, which equal it, were another payment' },
    reason: requiredReason,
    dryRun: dryRunOption,
  },
  notes: [
    '--paid needs a transaction of our wallet that is final on each node (url and witness_url), pays exactly this ' +
      'token, amount and address, and is no attempt of another payout.',
    '--never needs every attempt of every generation to be final without effect: failed, expired, or its nonce used by ' +
      'another transaction that did not pay it. A refund then fails with the reason rejected_by_operator, and the merchant ' +
      'can request its amount again, once; the money of a sweep is swept again.',
    '--retry frees nothing: the same payout is paid. It is signed again only where --never would end it.',
  ],
  async run(input, installation) {
    const { database, config } = installation;
    const id = input.args[0] ?? '';
    const payout = await database.payouts.find(id);
    if (!payout) throw notFound(`there is no payout ${id}; \`quayside payout list\` shows all`);
    const network = networkOf(config.networks, payout.network);
    const { dryRun, yes } = input.options;
    const exits = (['paid', 'never', 'retry'] as const).filter((one) => input.options[one] !== undefined);
    const [exit, other] = exits;
    const [paidBy = '', ...more] = transactionsOf(input, 'paid', network);
    if (!exit || other || more.length > 0 || (exit === 'paid') !== (paidBy !== ''))
      throw usage('say one of --paid TRANSACTION, --never and --retry');
    const others = transactionsOf(input, 'tx', network);
    const isDryRun = dryRun === true;
    const json = { id, resolved: exit, dry_run: isDryRun };
    return withPayoutAccess(network, installation, async (access) => {
      await adoptIfBehind(network, input, installation, access);
      const parts: ExitParts = { ...access, database, act: input.act, isDryRun };
      const now = (await database.payouts.find(id)) ?? payout;
      if (exit === 'paid') {
        const { feeUnits } = await settlePaid(parts, now, paidBy, yes === true);
        return recordAnswer({ ...json, transaction_hash: paidBy, fee_units: feeUnits.toString() });
      }
      await (exit === 'never' ? settleNever : retry)(parts, now, others);
      return recordAnswer(json);
    });
  },
};

const stays = 'it stays frozen: look at what has come since, and run this command again';

export const payoutsReconcile: Command = {
  name: 'payout reconcile',
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
      const json = { network: network.key, dry_run: isDryRun, ...adopted, unexplained: shown };
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
      transaction_hash: one.tx,
      seen: moment(one.seenAtMs),
      amount: amount(one.currency, one.units),
      to: format(one.toKey),
      is: is(settles, refusal),
    })),
    ...seen.nonces.map(({ payer, from, to, isFinal }) => ({
      transaction_hash: `${to - from} transactions of ${format(payer)}`,
      seen: '',
      amount: '',
      to: '',
      is: isFinal ? 'own cost, or shown above; name others that paid a refund with --tx' : 'not final yet',
    })),
    ...seen.named.map(({ tx, settles, refusal }) => ({
      transaction_hash: tx,
      seen: '',
      amount: '',
      to: '',
      is: is(settles, refusal),
    })),
  ];
}

const causes = ({ freezes }: Survey): string[] =>
  freezes.map(({ reason, sinceMs }) => `frozen since ${moment(sinceMs)}: ${reason}`);
