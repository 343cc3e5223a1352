/**
 * The refund and gas wallets: which of the seed's wallets pays, making the next one pay, and moving what a former one
 * still holds. The signer's policy names the wallet that pays; no other process can choose one.
 * @module
 */
import { createUnknownNumbers } from '../../indexers/payouts/unknown-numbers.ts';
import { coinText } from '../../src/chains/coin-text.ts';
import { chains } from '../../src/chains/index.ts';
import type { NetworkConfig } from '../../src/config/network.ts';
import { Fault, invariant, permanent } from '../../src/core/fault.ts';
import { type HotRole, hotRoles, type MoveIntent } from '../../src/core/intent.ts';
import type { Asset } from '../../src/core/ledger.ts';
import type { OtherWallet } from '../../src/core/outgoing.ts';
import type { NetworkKey } from '../../src/core/transfer.ts';
import type { Database } from '../../src/database/database.ts';
import { sortableId } from '../../src/lib/id.ts';
import { signerFiles } from '../../src/signer/files.ts';
import { loadPolicy, type Policy } from '../../src/signer/policy.ts';
import { rotateInPolicy } from '../../src/signer/policy-draft.ts';
import type { SignerWallets } from '../../src/signer/signer.ts';
import {
  becauseOption,
  type Command,
  dryRunOption,
  type Input,
  type Installation,
  moment,
  notFound,
  type OfflineCommand,
  operatorAct,
  table,
  usage,
} from './command.ts';
import { networkOf } from './network-name.ts';
import { type PayoutAccess, withPayoutAccess } from './payout-access.ts';
import { dirOption, filesOf } from './signer.ts';

/** Open payouts of a network, of each state, that are looked through. */
const LOOKED_MAX = 1_000;
/** Native coin that stays in a former wallet. */
type Staying = Readonly<{ wallet: number; amount: string }>;
/** Why a network's engine may not know what was signed. */
const unsure: readonly string[] = ['payouts_not_adopted', 'payouts_rollback_possible'];

export const walletList: Command = {
  name: 'wallet list',
  args: [],
  summary: 'Show the refund and gas wallets that pay, former ones, and what each holds.',
  options: {},
  async run(_input, { database, config }) {
    const wallets = (await database.listBalances()).map(({ network, role, key, isFormer, units, readAtMs }) => {
      const family = config.networks.find((one) => one.key === network)?.family;
      return {
        network,
        role,
        address: family ? chains[family].address.format(key) : key,
        former: isFormer === true,
        holds: Object.entries(units).map(([asset, held]) => coinText(config.networks, network, asset as Asset, held)),
        read_at: moment(readAtMs),
      };
    });
    const lines = table([
      ['network', 'wallet', 'address', 'holds', 'read'],
      ...wallets.map(({ network, role, address, former, holds, read_at }) => [
        network,
        former ? `former ${role}` : role,
        address,
        holds.join(', '),
        read_at,
      ]),
    ]);
    return {
      json: wallets,
      lines: wallets.length > 0 ? lines : ['no wallet was read yet: payouts need a signer (docs/money-out.md)'],
    };
  },
};

export const walletRotate: Command = {
  name: 'wallet rotate',
  args: ['role'],
  optionalArgs: ['network'],
  summary: 'Make the next wallet of the seed pay refunds or gas, on one network or on all that are paid out on.',
  options: { because: becauseOption, 'dry-run': dryRunOption },
  notes: [
    '<role> is refund or gas. It takes effect when the signer is restarted, which reads its policy then.',
    'The former wallet stays watched, and ends what it has begun. `quayside wallet empty` moves what it holds.',
    'Do not rotate right after a whole machine was put back to a snapshot: wait until payouts go on, or, on EVM networks,',
    'until `quayside status` names a transaction on its way that never gets into a block (docs/money-out.md).',
  ],
  async run(input, installation) {
    const role = roleOf(input);
    const { config, database, clock } = installation;
    const act = operatorAct(walletRotate, input, clock);
    if (!config.signer) throw permanent('no_signer', 'the configuration has no `signer`, so no wallet pays anything');
    const isDryRun = input.options['dry-run'] === true;
    const { policy: file } = signerFiles(config.signer.dir);
    // Every network is asked before any is changed: the wallets of one that was changed alone might not be funded.
    const done = [];
    for (const network of networksOf(input, installation, file, role)) {
      const wallets = await withPayoutAccess(network, installation, async (access) => {
        await refuseUnsure(access, database, network, role);
        return access.signer.wallets(network.key);
      });
      done.push(planRotation(file, network, role, wallets));
    }
    const rotations = done.filter(({ isChanged }) => isChanged);
    if (rotations.length > 0 && !isDryRun) {
      rotateInPolicy(
        file,
        rotations.map(({ network }) => network),
        role,
      );
      await database.recordRotations(rotations, act);
    }
    const verb = isDryRun ? 'would be' : 'is';
    return {
      json: done.map(({ isChanged, ...one }) => ({ ...one, changed: isChanged && !isDryRun })),
      lines: [
        ...done.map(({ network, from, to, after, isChanged }) =>
          isChanged
            ? `${network}: the ${role} wallet ${verb} ${to} (number ${after}) instead of ${from}`
            : `${network}: ${to} (number ${after}) was named before, and the signer was not restarted since`,
        ),
        'Send the new wallet what it needs, and restart the signer (`npm start` restarts its own): then it pays.',
        `Afterwards, \`quayside wallet empty ${role} <network>\` moves what the former wallet holds.`,
      ],
    };
  },
};

export const walletEmpty: Command = {
  name: 'wallet empty',
  args: ['role', 'network'],
  summary: 'Move what former refund or gas wallets hold to the one that pays now.',
  options: { because: becauseOption, 'dry-run': dryRunOption },
  notes: ['Nothing is moved from a wallet whose own transactions are under way: run the command again later.'],
  async run(input, installation) {
    const role = roleOf(input);
    const network = networkOf(installation.config.networks, input.args[1] ?? '');
    const { database, clock, config } = installation;
    const act = operatorAct(walletEmpty, input, clock);
    return withPayoutAccess(network, installation, async (access) => {
      const { others } = await access.wallets.own();
      const former = others.filter((one) => one.role === role && one.isFormer);
      if (former.length === 0) throw notFound(`${network.key} has no former ${role} wallet`);
      const busy = await busyWallets(access, database, network.key);
      const intents: MoveIntent[] = [];
      const notes: string[] = [];
      const stays: Staying[] = [];
      for (const wallet of former) {
        const id = busy.get(wallet.key);
        if (id !== undefined) {
          notes.push(`wallet ${wallet.index} is still used by payout ${id}: run this again later`);
          continue;
        }
        const { moves, stays: units, refusals } = await movesFrom(access, network, wallet, former.length, act.atMs);
        intents.push(...moves);
        notes.push(...refusals);
        if (units > 0n)
          stays.push({ wallet: wallet.index, amount: coinText(config.networks, network.key, 'native', units) });
      }
      const isDryRun = input.options['dry-run'] === true;
      if (!isDryRun && intents.length > 0) await database.planMoves(intents, act);
      const textOf = ({ currency, units }: MoveIntent) =>
        coinText(config.networks, network.key, currency ?? 'native', units);
      return {
        json: {
          network: network.key,
          role,
          dry_run: isDryRun,
          planned: intents.map((one) => ({ id: one.id, wallet: one.fromIndex, amount: textOf(one) })),
          stays,
          notes,
        },
        lines: [
          ...intents.map(
            (one) =>
              `${isDryRun ? 'would move' : 'moves'} ${textOf(one)} from ${role} wallet ${one.fromIndex} (${one.id})`,
          ),
          ...(intents.length === 0 && notes.length === 0 ? ['the former wallets hold nothing that can be moved'] : []),
          ...notes,
          ...stays.map(
            ({ wallet, amount }) =>
              `${amount} stays in ${role} wallet ${wallet}, less the fees: they may rise, and some chains want an account to hold a little`,
          ),
          ...(intents.length > 0 && !isDryRun ? ['`quayside payouts list --kind move` shows how they go on'] : []),
        ],
        isBad: notes.length > 0,
      };
    });
  },
};

export const signerPolicyRotate: OfflineCommand = {
  name: 'signer policy rotate',
  args: ['role', 'network'],
  summary: 'Make the next refund or gas wallet pay on a network, in the signer’s policy; for a signer of its own user.',
  options: { dir: dirOption },
  notes: ['`quayside wallet rotate` does the same where it may change the policy.'],
  async runOffline(input) {
    const role = roleOf(input);
    const { policy: file } = filesOf(input);
    const network = input.args[1] as NetworkKey;
    const [rotation] = rotateInPolicy(file, [network], role);
    invariant(rotation, 'one network was rotated');
    const { before, after } = rotation;
    return {
      json: { policy: file, network, role, before, after },
      lines: [`${file}: number ${after} of the ${role} wallets pays on ${network} once the signer is restarted`],
    };
  },
};

/** @throws Fault permanent `usage` */
function roleOf({ args }: Input): HotRole {
  const role = hotRoles.find((one) => one === args[0]);
  if (role) return role;
  throw usage(`<role> is "${args[0]}", expected ${hotRoles.join(' or ')}`);
}

/** Returns the network that is named, or all configured ones that the signer's policy has. */
function networksOf({ args }: Input, { config }: Installation, file: string, role: HotRole): NetworkConfig[] {
  if (args[1] !== undefined) return [networkOf(config.networks, args[1])];
  const allowed = readPolicyOf(file, role, '<network>').networks.map(({ key }) => key);
  return config.networks.filter(({ key }) => allowed.includes(key));
}

/**
 * Refuses a rotation while something may have been signed that this database does not know, and of a gas wallet that
 * has lent its stake. What a node shows as on its way is no reason where transactions have numbers: payouts wait on
 * after the rotation, until it is final or the former wallet is empty.
 * @throws Fault permanent `payouts_uncertain`, `stake_lent`; transient if the nodes cannot be asked now
 */
async function refuseUnsure(
  { node, rules, wallets }: PayoutAccess,
  database: Database,
  { key: network, family }: NetworkConfig,
  role: HotRole,
): Promise<void> {
  const reason = (await database.listEngines()).find((one) => one.network === network)?.reason;
  const mayHang = reason?.code === 'payouts_rollback_possible' && rules.lane === 'sequence';
  const hanging =
    mayHang && (await createUnknownNumbers({ network: { key: network, family }, node, database, wallets })());
  if (reason && unsure.includes(reason.code) && !hanging) {
    throw permanent(
      'payouts_uncertain',
      `payouts on ${network} are stopped (${reason.message}): end that first, because a new wallet would pay again what was signed and is not known here`,
    );
  }
  if (role !== 'gas') return;
  for (const { id, intent } of await openPayouts(database, network)) {
    if (intent.kind !== 'gas' || intent.form === 'transfer') continue;
    throw permanent(
      'stake_lent',
      `the gas wallet of ${network} has lent its stake, and payout ${id} of that is open: wait until \`quayside payouts show ${id}\` says that it has ended`,
    );
  }
}

async function openPayouts(database: Database, network: NetworkKey) {
  const states = ['waiting', 'sent', 'stuck'] as const;
  return (await Promise.all(states.map((state) => database.listPayouts({ network, state, limit: LOOKED_MAX })))).flat();
}

/** Returns the next wallet of a network, and whether the policy still has to be changed. */
function planRotation(file: string, { key: network, family }: NetworkConfig, role: HotRole, wallets: SignerWallets) {
  const others = wallets.others.filter((one) => one.role === role);
  const running = others.filter(({ isFormer }) => isFormer).length;
  const after = running + 1;
  const next = others.find(({ index }) => index === after);
  if (!next) {
    throw permanent(
      'wallets_used_up',
      `${network} has used every ${role} wallet of this seed: \`quayside signer init\` makes a new seed`,
    );
  }
  const isChanged = indexIn(file, network, role) === running;
  const { format } = chains[family].address;
  return { network, role, before: running, after, from: format(wallets[role]), to: format(next.key), isChanged };
}

function indexIn(file: string, network: NetworkKey, role: HotRole): number {
  const known = readPolicyOf(file, role, network).networks.find(({ key }) => key === network);
  if (known) return known.walletIndices[role];
  throw notFound(`the signer's policy has no network ${network}: \`quayside signer policy add ${network}\``);
}

/** @throws Fault permanent `policy_elsewhere` if only the signer's own user may change the policy */
function readPolicyOf(file: string, role: HotRole, network: string): Policy {
  try {
    return loadPolicy(file);
  } catch (error) {
    const isElsewhere = error instanceof Fault ? error.code === 'policy_open' : isDenied(error);
    if (!isElsewhere) throw error;
    throw permanent(
      'policy_elsewhere',
      `${file} may be changed by the signer's user only; as that user, run \`quayside signer policy rotate ${role} ${network}\`, then restart the signer`,
    );
  }
}

const isDenied = (error: unknown): boolean => ['EACCES', 'EPERM'].includes((error as NodeJS.ErrnoException).code ?? '');

/** Returns which wallets have attempts that have not ended, or moves that are open, each with such a payout. */
async function busyWallets({ wallets }: PayoutAccess, database: Database, network: NetworkKey) {
  const busy = new Map<string, string>();
  for (const { id, intent, state, generation } of await openPayouts(database, network)) {
    if (intent.kind === 'move') busy.set((await wallets.draft(intent)).payer, id);
    if (state === 'waiting') continue;
    const attempts = await database.listPayoutAttempts(id);
    for (const one of attempts) if (one.generation === generation) busy.set(one.payer, id);
  }
  return busy;
}

type Emptying = Readonly<{
  moves: readonly MoveIntent[];
  /** Native coin that no move takes, the fees of the moves included. */
  stays: bigint;
  /** What cannot be moved now, and why. */
  refusals: readonly string[];
}>;

/**
 * Returns the moves that empty a former wallet. Native coin goes last, less what the other moves and itself may cost,
 * and what the chain wants an account to keep.
 */
async function movesFrom(
  { node, wallets }: PayoutAccess,
  network: NetworkConfig,
  { role, index: fromIndex, key }: OtherWallet,
  toIndex: number,
  nowMs: number,
): Promise<Emptying> {
  const held = await node.balance(key);
  const moves: MoveIntent[] = [];
  const refusals: string[] = [];
  const quoteOf = async (currency: MoveIntent['currency'], units: bigint) => {
    const id = `mv_${sortableId(nowMs)}`;
    const intent: MoveIntent = { kind: 'move', id, network: network.key, role, fromIndex, toIndex, currency, units };
    return { intent, quote: await node.quote(await wallets.draft(intent), null, []) };
  };
  const refuse = (what: string, why: string) =>
    void refusals.push(`${what} of wallet ${fromIndex} is not moved: ${why}`);
  let left = held.native;
  for (const { symbol } of network.tokens) {
    const units = held.tokens[symbol] ?? 0n;
    if (units === 0n) continue;
    const { intent, quote } = await quoteOf(symbol, units);
    if (quote.kind === 'refused') {
      refuse(symbol, quote.message);
      continue;
    }
    moves.push(intent);
    left -= quote.feeUnitsMax;
  }
  // The price may rise until it is signed: twice the fee is left, so less than half of the coins is worth no move.
  const probed = left > 1n ? (await quoteOf(null, left / 2n)).quote : null;
  if (probed?.kind === 'refused' && probed.code !== 'native_short') refuse('native coin', probed.message);
  if (probed?.kind !== 'quoted') return { moves, stays: held.native, refusals };
  const units = left - 2n * probed.feeUnitsMax - (probed.keptUnits ?? 0n);
  if (units <= 0n) return { moves, stays: held.native, refusals };
  const { intent, quote } = await quoteOf(null, units);
  if (quote.kind === 'refused') {
    refuse('native coin', quote.message);
    return { moves, stays: held.native, refusals };
  }
  return { moves: [...moves, intent], stays: held.native - units, refusals };
}
