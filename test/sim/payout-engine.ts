/**
 * One run of the real payout engine, any of whose calls to the outside can be its last: before the call takes effect,
 * or just after.
 */
import { createPayer, type Payer } from '../../indexers/payouts/engine.ts';
import { chains } from '../../src/chains/index.ts';
import type { PayoutNode } from '../../src/chains/spend.ts';
import { transient } from '../../src/core/fault.ts';
import type { NetworkKey } from '../../src/core/transfer.ts';
import type { Database } from '../../src/database/database.ts';
import type { NetworkRow } from '../../src/database/networks.ts';
import type { Clock } from '../../src/lib/clock.ts';
import type { Log } from '../../src/lib/log.ts';
import type { PayingSigner } from '../../src/signer/client.ts';
import type { SigningService } from '../../src/signer/signing-service.ts';
import { plainSweepPolicy } from '../support/plain-policies.ts';
import type { Random } from '../support/random.ts';
import type { Lane } from './payout-chain.ts';
import { familyOf, tokens } from './payout-signer.ts';

/** Thrown by every call after the process was killed. */
export class Killed extends Error {}

export type Fuse = {
  /**
   * Calls until the process dies; null: never. An even number dies before the call takes effect, an odd one after it.
   */
  left: number | null;
  isDead: boolean;
};

/** Wraps every method of `port`, and of the repositories in it, so that it dies when the fuse ends. */
function mortal<T extends object>(port: T, fuse: Fuse): T {
  const burn = (): void => {
    if (fuse.left === 0) fuse.isDead = true;
    if (fuse.isDead) throw new Killed();
    if (fuse.left !== null) fuse.left--;
  };
  const wrap = (member: unknown): unknown => {
    if (typeof member === 'object' && member !== null) return mortal(member, fuse);
    if (typeof member !== 'function') return member;
    return async (...args: unknown[]) => {
      burn();
      const result: unknown = await member.apply(port, args);
      burn();
      return result;
    };
  };
  return Object.fromEntries(Object.entries(port).map(([name, member]) => [name, wrap(member)])) as T;
}

/**
 * The service as an engine reaches it: an answer may be lost after the service has signed.
 * @param running returns the service that answers now
 */
export const overSocket = (running: () => SigningService, random?: Random, lossy = () => 0): PayingSigner => {
  const lose = (): void => {
    if (random?.chance(lossy())) throw transient('signer_unreachable', 'the signer closed the connection');
  };
  const through = async <T>(work: (service: SigningService) => T): Promise<T> => {
    lose();
    const result = work(running());
    lose();
    return result;
  };
  return {
    wallets: (network) => through((service) => service.wallets(network)),
    addresses: (network, indices) => through((service) => service.addresses(network, indices)),
    refundLock: (network, id) => through((service) => service.refundLock(network, id)),
    sign: (request) => through((service) => service.sign(request)),
    journal: (network, after, limit) => through((service) => service.journal(network, after, limit)),
    freezeState: () => through((service) => service.freezeState()),
    freeze: (reason, frozenBy) => through((service) => service.freeze(reason, frozenBy)),
    fence: (network) => through((service) => service.fence(network)),
    close: async () => {},
  };
};

const genesis = { hash: 'b0', parent: '', number: 0, timeS: 0 };
const quiet = { info() {}, warn() {}, error() {} } as unknown as Log;

type EngineParts = Readonly<{
  network: NetworkKey;
  lane: Lane;
  node: PayoutNode;
  signer: PayingSigner;
  database: Database;
  clock: Clock;
  fuse: Fuse;
  /** Of a machine that can be restored: the blocks that are made, final, and read. */
  machine?: Readonly<{ blocks(): Readonly<{ head: number; final: number; read: number }> }>;
}>;

/** How long everything waits after the machine was restored: longer than a simulated transaction lives. */
const WAIT_MS = { sequence: 60_000, expiry: 360_000, lock: 360_000 } as const;

export function startEngine({ network, lane, node, signer, database, clock, fuse, machine }: EngineParts): Payer {
  const followed = { key: network, state: 'following' } as NetworkRow;
  const seen: Database = {
    ...database,
    networks: {
      ...database.networks,
      find: async () => ({ ...followed, updatedAtMs: clock.nowMs(), floor: machine?.blocks().read ?? 0 }),
    },
  };
  const blockAt = (number: number) => ({ ...genesis, number, timeS: Math.floor(clock.nowMs() / 1000) });
  return createPayer({
    network: {
      key: network,
      family: 'evm',
      mode: 'test',
      tokens,
      blockTimeMs: 5000,
      reorgDepthMax: 3,
      sweep: plainSweepPolicy,
      payoutExpiryMs: WAIT_MS[lane],
    },
    rules: chains[familyOf[lane]].spendRules,
    node: mortal(node, fuse),
    chainNode: {
      head: async () => blockAt(machine?.blocks().head ?? 0),
      finalized: async () => (machine ? blockAt(machine.blocks().final) : genesis),
    },
    signer: mortal(signer, fuse),
    secondOpinion: async () => [],
    database: mortal(seen, fuse),
    clock,
    log: quiet,
  });
}
