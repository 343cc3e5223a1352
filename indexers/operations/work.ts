/**
 * What each kind of operation does, with the functions that the `quayside` command uses too.
 * @module
 */
import { createHash } from 'node:crypto';
import type { NetworkConfig } from '../../src/config/network.ts';
import { permanent } from '../../src/core/fault.ts';
import type { OperationResult, OtherNode, Wish } from '../../src/core/operation.ts';
import type { OperatorAct } from '../../src/database/audit-log.ts';
import type { Operation } from '../../src/database/operations.ts';
import { adoptPayouts, isBehindSigner } from '../payouts/adoption.ts';
import { equalText, settleNever, settlePaid } from '../payouts/exits.ts';
import { explainNumbers, leftText, passNumbers, usedText } from '../payouts/halted-lanes.ts';
import { payoutNodeOptions } from '../payouts/node-options.ts';
import type { FreezableSigner } from '../payouts/signer-freeze.ts';
import { createPayoutWallets } from '../payouts/wallets.ts';
import { atUrl, rereadBlocks } from '../reread.ts';
import type { PayoutParts, WorkParts } from './parts.ts';
import { planSweeps, runSweeps } from './sweeps.ts';

const DIFFERENCES_SHOWN = 50;
/** As much of a reason as the signer keeps. */
const REASON_CHARS_MAX = 200;

type Of<K extends Wish['kind']> = Extract<Wish, { kind: K }>;

/** Does what was asked for. @throws Fault with the reason why not */
export async function doOperation(parts: WorkParts, { wish, ...asked }: Operation): Promise<OperationResult> {
  const { askedBy, because } = asked;
  const command = `operation ${wish.kind}`;
  const act: OperatorAct = { atMs: parts.clock.nowMs(), operator: askedBy, command, reason: because };
  switch (wish.kind) {
    case 'reread':
      return reread(parts, wish, act);
    case 'freeze_signer':
      return freezeSigner(parts, act);
    case 'sweep_plan':
      return withPayouts(parts, (own) => planSweeps(own, wish.min));
    case 'sweep_run':
      return withPayouts(parts, (own) => runSweeps(own, wish.planId));
    case 'adopt':
      return withPayouts(parts, adopt);
    case 'settle':
      return withPayouts(parts, (own) => settle(own, wish, act));
    case 'resume_wallets':
      return withPayouts(parts, (own) => resumeWallets(own, wish, act));
  }
}

/** @throws Fault permanent `no_signer` */
function signerOf({ signer, network }: WorkParts): FreezableSigner {
  if (signer) return signer;
  throw permanent('no_signer', `the configuration has no \`signer\`, so nothing is paid out on ${network.key}`);
}

/**
 * Opens the nodes for payouts for `work`.
 * @throws Fault permanent `no_signer`, `no_payouts`
 */
async function withPayouts(
  parts: WorkParts,
  work: (parts: PayoutParts) => Promise<OperationResult>,
): Promise<OperationResult> {
  const signer = signerOf(parts);
  const family = await parts.chain.payouts?.();
  if (!family) throw permanent('no_payouts', `nothing is paid out on ${parts.network.key}`);
  const node = family.openPayoutNode(payoutNodeOptions(parts.network));
  const close = () => void node.close();
  parts.signal.addEventListener('abort', close, { once: true });
  try {
    return await work({ ...parts, signer, node });
  } finally {
    parts.signal.removeEventListener('abort', close);
    await node.close();
  }
}

/** @throws Fault permanent `refused` if the settings name no such node */
function atNode(network: NetworkConfig, node: OtherNode | undefined): NetworkConfig {
  if (node === undefined) return network;
  const url = node === 'witness' ? network.witnessUrl : network.fallbackUrl;
  if (url === undefined) throw permanent('refused', `the settings of ${network.key} have no ${node}_url`);
  return atUrl(network, url);
}

async function reread(
  { network, chain, database, clock, report }: WorkParts,
  { from, to, isCheck, node }: Of<'reread'>,
  act: OperatorAct,
): Promise<OperationResult> {
  const status = (await database.listNetworks()).find((one) => one.network === network.key);
  const tip = status?.cursor?.number ?? -1;
  if (to > tip) throw permanent('refused', `${network.key} has been read up to block ${tip} only`);
  const onProgress = (done: number) => report(`${done} of ${to - from + 1} blocks`);
  const { differences, counts, closed } = await rereadBlocks({
    ...{ network: atNode(network, node), database, chain, from, to, isCheck, act, clock, onProgress },
  });
  const rows = differences
    .slice(0, DIFFERENCES_SHOWN)
    .map(({ kind, number, block, transfer }) => [
      kind.replaceAll('_', ' '),
      String(number),
      transfer?.tx ?? block,
      transfer ? `${transfer.units} ${transfer.currency}` : '',
    ]);
  const open = counts.unknown + counts.other_block;
  return {
    lines: [
      `Blocks ${from} to ${to} were read: ${counts.missing} transfers were missing${isCheck ? '' : ' and are added'}.`,
      ...closed.map((gap) => `The gap ${gap.from} to ${gap.to} is closed.`),
      ...(open > 0
        ? [
            `The node does not show ${counts.unknown} transfers that are held, and ${counts.other_block} blocks are others. ` +
              'Nothing of that was changed: compare the node with another one.',
          ]
        : []),
    ],
    ...(rows.length > 0 && {
      table: { columns: ['Difference', 'Block', 'Transaction', 'Base units'], rows },
    }),
  };
}

async function freezeSigner(parts: WorkParts, { operator, reason }: OperatorAct): Promise<OperationResult> {
  const state = await signerOf(parts).freeze(
    (reason ?? 'asked for in the dashboard').slice(0, REASON_CHARS_MAX),
    operator,
  );
  return {
    lines: [
      'The signer is frozen: it signs nothing on any network.',
      state.approvers.length > 0
        ? `An approver ends that (${state.approvers.join(', ')}): \`quayside signer thaw --help\` shows how.`
        : 'Its policy names no approver, so nothing can end that yet: `quayside signer operator-key` makes a key to name.',
    ],
  };
}

async function adopt({ network, chain, signer, database, clock, report }: PayoutParts): Promise<OperationResult> {
  const onProgress = (count: number) => report(`${count} signatures were compared`);
  const own = { network: network.key, rules: chain.spendRules, signer, database, nowMs: clock.nowMs(), onProgress };
  const { signatures, added } = await adoptPayouts(own);
  return {
    lines: [
      `The signer has signed ${signatures} attempts; missing here, and now added: ${added}.`,
      'Payouts go on within half a minute.',
    ],
  };
}

/** An attempt that this database does not know may have paid already, so the signer's journal is adopted first. */
async function adoptIfBehind(parts: PayoutParts, isCheck: boolean): Promise<void> {
  if (!(await isBehindSigner(parts.network.key, parts.database, parts.signer))) return;
  if (isCheck) {
    throw permanent('payouts_not_adopted', 'the signer has signed more than is known here: adopt its signatures first');
  }
  await adopt(parts);
}

function exitParts(parts: PayoutParts, act: OperatorAct, isDryRun: boolean) {
  const { network, chain, signer, database, node } = parts;
  const rules = chain.spendRules;
  const wallets = createPayoutWallets({ network: network.key, tokens: network.tokens, rules, signer });
  return { node, wallets, rules, database, act, isDryRun };
}

async function settle(
  parts: PayoutParts,
  { payoutId, paidBy, isRenewed, isCheck, vouches }: Of<'settle'>,
  act: OperatorAct,
): Promise<OperationResult> {
  await adoptIfBehind(parts, isCheck);
  const payout = await parts.database.findPayout(payoutId);
  if (payout?.network !== parts.network.key) throw permanent('refused', `${payoutId} is no payout of this network`);
  const own = exitParts(parts, act, isCheck);
  const verb = isCheck ? 'would be' : 'is';
  if (paidBy !== null) {
    const tx = parts.chain.transactionId(paidBy);
    if (tx === null) throw permanent('refused', `“${paidBy}” is no transaction id of ${parts.network.key}`);
    await settlePaid(own, payout, tx, vouches === true);
    return { lines: [`${payoutId} ${verb} settled: paid by ${tx}.`] };
  }
  // A check shows what a person agrees to by going on.
  const { despite } = await settleNever(own, payout, { isRenewed, isAgreed: true });
  const done = isRenewed ? 'paid once more: nothing has paid it, and nothing can' : 'ended: it was never paid';
  const agreed = despite && `${equalText(despite)}: go on only if it did not pay ${payoutId}.`;
  return { lines: [`${payoutId} ${verb} ${done}.`, ...(agreed ? [agreed] : [])] };
}

async function resumeWallets(
  parts: PayoutParts,
  { isCheck, accepted }: Of<'resume_wallets'>,
  act: OperatorAct,
): Promise<OperationResult> {
  const { network, database, chain, clock } = parts;
  const halted = (await database.haltedLanes()).filter((lane) => lane.network === network.key);
  if (halted.length === 0) throw permanent('not_halted', `no wallet on ${network.key} is halted`);
  await adoptIfBehind(parts, isCheck);
  const { lanes, used } = await explainNumbers(exitParts(parts, act, isCheck), halted);
  const settled = used.filter(({ settles }) => settles !== null);
  const rest = used.filter(({ settles }) => settles === null).map((one) => usedText(one, network));
  const digest = createHash('sha256').update(rest.join('\n')).digest('hex');
  const verb = isCheck ? 'would be' : 'is';
  const lines = [
    ...settled.map(({ settles, spent }) => `${settles} ${verb} settled: paid by ${spent?.tx}.`),
    ...rest.map((text) => `${text}.`),
  ];
  const read = lanes.filter(({ left }) => left === 0);
  const halting = lanes.filter(({ left }) => left > 0).map((lane) => `${leftText(lane, network)}.`);
  if (isCheck) return { lines: [...lines, ...halting, `${read.length} wallets can go on.`], digest };
  if (rest.length > 0 && digest !== accepted) {
    throw permanent(
      'not_agreed',
      `the wallets stay halted: ${rest.length} transactions that no payout explains are not those that were shown; check again`,
    );
  }
  await passNumbers(database, network.key, lanes, clock.nowMs());
  const resumed = read.map(({ payer }) => `Wallet ${chain.address.format(payer)} goes on.`);
  return { lines: [...lines, ...halting, ...resumed] };
}
