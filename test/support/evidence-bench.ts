/**
 * A shop on a simulated node, with money in, refunds and sweeps, whose certificates are made by the real parts.
 *
 * @module
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { makeCertificate, nextRange } from '../../indexers/evidence/maker.ts';
import { openEvidence } from '../../indexers/evidence/open.ts';
import type { Family, Node } from '../../src/chains/chain.ts';
import { chains } from '../../src/chains/index.ts';
import type { RefundIntent, SweepIntent } from '../../src/core/intent.ts';
import type { NumberRange } from '../../src/database/evidence.ts';
import type { Kept } from '../../src/evidence/archive.ts';
import { BLOCKS_MAX } from '../../src/evidence/certificate.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { worldShape } from '../../src/sandbox/families.ts';
import { type IndexedShop, type Order, openIndexedShop } from './indexed-shop.ts';
import { accountKeyOf, startSimulatedNode, writtenBy } from './simulated-node.ts';
import { simulatedChains, testNetwork } from './test-network.ts';
import { until } from './until.ts';

const FINAL_BLOCKS = 5;
const PATIENCE_MS = 2_000;

export type EvidenceBench = Awaited<ReturnType<typeof openEvidenceBench>>;

/** Starts the node, the database and the indexer, and waits until blocks are final. */
export async function openEvidenceBench(family: Family) {
  const own = await startSimulatedNode({
    ...simulatedChains[family],
    seed: 'evidence',
    finalityDistance: FINAL_BLOCKS,
  });
  const mineSome = (blocks: number) => {
    for (let left = blocks; left > 0; left--) own.world.mine();
  };
  mineSome(30);
  const network = testNetwork({ name: family, family, url: own.httpUrl });
  const shop: IndexedShop = await openIndexedShop(network);
  const dataDir = mkdtempSync(join(tmpdir(), 'quayside-evidence-'));
  const raw = new Sqlite(shop.temp.file);
  const [token] = network.tokens;
  const [worldToken = ''] = worldShape(simulatedChains[family]).tokens;
  const treasury = accountKeyOf(family, 'treasury');
  let signatures = 0;
  let orders = 0;
  shop.start();
  await shop.isIn('following');

  const floor = async (): Promise<number> => (await shop.status())?.floor ?? 0;

  /** Mines until everything so far is final, and waits until the follower knows. */
  async function settle(): Promise<number> {
    const { number } = own.world.tip();
    mineSome(FINAL_BLOCKS + 1);
    const tip = writtenBy[family].hash(own.world.tip().hash);
    await shop.holds(tip);
    await until('the blocks are final', async () => (await floor()) >= number);
    return number;
  }

  /** Records a payout that the world has made, as the engine does. */
  async function book(intent: RefundIntent | SweepIntent, tx: string): Promise<void> {
    const { database } = shop;
    const nowMs = systemClock.nowMs();
    const key = network.key;
    if (signatures === 0) await database.nextFence(key, 0, nowMs);
    const { id } = intent;
    const name = { id, generation: 0, attempt: 0 };
    const payer = { payer: 'a'.repeat(40), payerRole: 'gas', nonce: null, terms: {}, feeUnitsMax: 9n } as const;
    await database.planPayouts([{ intent, sessionId: null, servesId: null, notBeforeMs: nowMs, nowMs }]);
    await database.allotAttempt({ ...name, ...payer, intent, nowMs });
    signatures += 1;
    const signed = { terms: {}, tx, bytes: new Uint8Array([1]), signedAtMs: nowMs };
    await database.recordSigned(key, [{ ...name, ...signed, id: signatures, intent }]);
    await database.recordSent({ ...name, answer: 'accepted', refusal: null, nowMs });
    await database.settlePayout({
      id,
      generation: 0,
      outcome: { kind: 'succeeded', ended: { tx, feeUnits: 0n } },
      nowMs,
    });
  }

  function send(from: string, to: string, units: bigint): string {
    const digits = own.world.pay({ kind: 'direct', from, outputs: [{ token: worldToken, to, units }] });
    return writtenBy[family].transaction(digits);
  }

  return {
    own,
    shop,
    network,
    raw,
    dataDir,
    settle,
    floor,
    mine: mineSome,
    units: (whole: number) => BigInt(whole) * 10n ** BigInt(token?.decimals ?? 0),
    order: (): Promise<Order> => shop.order(`order-${orders++}`),
    pay: (order: Order, units: bigint) => own.pay(order.address, units),
    /** Moves money from an order's address to the treasury, as a sweep, or as somebody else's transfer. */
    async sweep(order: Order, units: bigint, isOurs = true): Promise<string> {
      const tx = send(order.address, treasury, units);
      own.world.mine();
      const index = raw
        .prepare('SELECT derivation_index FROM addresses WHERE key = ?')
        .pluck()
        .get(order.address) as number;
      const intent: SweepIntent = {
        kind: 'sweep',
        id: `sweep-${signatures}`,
        network: network.key,
        currency: token?.symbol ?? 'USDT',
        from: [{ index, units }],
      };
      if (isOurs) await book(intent, tx);
      return tx;
    },
    /** Pays a refund from the refund wallet, or only says so. */
    async refund(units: bigint, isMade = true): Promise<string> {
      const to = accountKeyOf(family, 'payee');
      const tx = isMade
        ? send(accountKeyOf(family, 'refund wallet'), to, units)
        : writtenBy[family].transaction('ab'.repeat(32));
      own.world.mine();
      const intent: RefundIntent = {
        kind: 'refund',
        id: `refund-${signatures}`,
        network: network.key,
        currency: token?.symbol ?? 'USDT',
        to,
        units,
        mac: 'c'.repeat(64),
      };
      await book(intent, tx);
      return tx;
    },
    /** Makes the certificate of a range, or of the next one. */
    async make(
      range: NumberRange | null = null,
      change: Readonly<{ hasSigner?: boolean; through?: (node: Node) => Node }> = {},
    ): Promise<Kept> {
      const chain = chains[family];
      const { hasSigner = true, through = (node: Node) => node } = change;
      const { database } = shop;
      const open = await openEvidence({ network, chain, database, dataDir, hasSigner, clock: systemClock });
      const parts = { ...open, node: through(open.node), patienceMs: PATIENCE_MS, rest: async () => {} };
      try {
        const wanted = range ?? (await nextRange(parts, BLOCKS_MAX));
        if (!wanted) throw new Error('there is no next range');
        return await makeCertificate(parts, wanted);
      } finally {
        await open.close();
      }
    },
    async close(): Promise<void> {
      raw.close();
      await shop.close();
      await own.close();
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}
