/**
 * A shop whose payments come over a real node, and its books compared with what that node has in its chain.
 */
import * as assert from 'uvu/assert';
import type { Currency } from '../../src/core/transfer.ts';
import { databaseFile } from '../../src/lib/secret-key.ts';
import { addressOf, XPUB } from '../e2e/evm.ts';
import { deployToken, type TokenContract } from '../support/contracts.ts';
import type { EvmNode } from '../support/evm-node.ts';
import { type Json, openFlowInstallation } from '../support/instance.ts';
import { expectBooks } from '../support/quayside-process.ts';
import { raw } from '../support/raw.ts';
import { until } from '../support/until.ts';

const DECIMALS = 6;
const NETWORK = 'test:ethereum';
/** keccak256 of `Transfer(address,address,uint256)`. */
const TRANSFER_TOPIC = '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef';
/** geth's own limit on a filter. */
const ADDRESSES_PER_FILTER = 1_000;

export type NodeShop = Awaited<ReturnType<typeof openNodeShop>>;

const unitsOf = (cents: number): bigint => BigInt(cents) * 10n ** BigInt(DECIMALS - 2);

/** Deploys the tokens and starts Quayside. The node is closed with the shop. */
export async function openNodeShop(node: EvmNode) {
  const contracts = {
    USDT: await deployToken(node, { symbol: 'USDT', decimals: DECIMALS }),
    USDC: await deployToken(node, { symbol: 'USDC', decimals: DECIMALS }),
  };
  const tokens = Object.entries(contracts).map(([symbol, { address }]) => ({ symbol, address, decimals: DECIMALS }));
  const ethereum = {
    mode: 'test',
    url: node.wsUrl,
    chain_id: String(node.chainId),
    xpub: XPUB,
    confirmations: { blocks: 4, finality: null, tiers: null },
    reorg_depth_max: 40,
    block_time_ms: 1000,
    poll_ms: 100,
    tokens,
  };
  const installation = await openFlowInstallation({
    networks: { ethereum },
    // Without the Internet, the usual sources would raise an alarm after a while.
    rates: { sources: ['static'], static: { EUR: '1.08' } },
    limits: { pool_target: 100, requests_per_second_per_key: 10_000 },
  });
  const { quayside, shop } = installation;
  const network = () => shop.statusOf(NETWORK);

  const read = <T>(query: string): T[] =>
    raw(databaseFile(quayside.dataDir), (database) => database.prepare(query).all() as T[]);

  return {
    ...installation,
    node,
    contracts,
    /** Sends so many cents to a session's address. @returns the transaction */
    pay: (session: Json, cents: number, currency: Currency = 'USDT') =>
      contracts[currency].transfer(addressOf(session), unitsOf(cents)),
    /**
     * Waits until a session is paid. Expects exactly these amounts to be confirmed, whatever was taken back before, and
     * their sum in the one webhook.
     */
    async expectPaid(session: Json, amounts: readonly string[], currency: Currency = 'USDT') {
      await shop.waitForStatus(session, 'paid');
      const { payments } = await shop.show(session);
      const standing = payments.filter((one: Json) => one.status !== 'orphaned');
      assert.equal(standing.map((one: Json) => one.amount).sort(), [...amounts].sort());
      for (const one of standing) assert.equal([one.status, one.currency], ['confirmed', currency]);
      const cents = amounts.reduce((sum, amount) => sum + Math.round(Number(amount) * 100), 0);
      assert.is((await shop.completed(session)).amount, cents);
    },
    /** Returns the network as `quayside status` shows it. */
    network,
    /** Waits until the network is followed to the node's head. */
    untilLevel: () =>
      until('the network is followed to the head', async () => {
        const { state, cursor } = await network();
        return state === 'following' && cursor === (await node.head()).number;
      }),
    /** Waits until the network is in a state for a reason, such as `halted` and `reorg_below_floor`. */
    untilState: (state: string, reason?: string) =>
      until(`the network is ${state} ${reason ?? ''}`, async () => {
        const now = await network();
        return now.state === state && (reason === undefined || now.reason?.code === reason);
      }),
    /** Returns the codes of all alarms so far, oldest first. */
    alarms: () => read<{ code: string }>('SELECT code FROM alarms ORDER BY id').map(({ code }) => code),
    /**
     * Expects the canonical transfers in the database to be those in the node's logs, each once, and the ledger to
     * balance.
     * @returns how many transfers there are
     */
    async expectBooks(): Promise<number> {
      const saved = read<Transfer>(TRANSFERS);
      const watched = read<{ key: string }>(`SELECT key FROM addresses WHERE state = 'taken'`).map(({ key }) => key);
      assert.equal(saved.map(lineOf).sort(), (await readLogs(node, contracts, watched)).map(lineOf).sort());
      await expectBooks(quayside.cli);
      return saved.length;
    },
    async close() {
      await installation.close();
      await node.close();
    },
  };
}

type Transfer = Readonly<{ block: string; tx: string; position: number; currency: string; to: string; units: string }>;

const TRANSFERS = `
  SELECT blocks.hash AS block, tx, position, currency, addresses.key AS "to", units
  FROM transfers JOIN blocks ON blocks.id = block_id JOIN addresses ON addresses.id = address_id
  WHERE canonical = 1`;

const lineOf = ({ block, tx, position, currency, to, units }: Transfer): string =>
  [block, tx, position, currency, to, units].join(' ');

/** Reads transfers above zero to the addresses, in all blocks, from the node's own logs. */
async function readLogs(
  { rpc }: EvmNode,
  contracts: Readonly<Record<Currency, TokenContract>>,
  keys: readonly string[],
): Promise<readonly Transfer[]> {
  type Log = Record<'blockHash' | 'transactionHash' | 'logIndex' | 'data', string> & { topics: readonly string[] };
  const found: Transfer[] = [];
  for (const [currency, { address }] of Object.entries(contracts)) {
    for (let at = 0; at < keys.length; at += ADDRESSES_PER_FILTER) {
      const payees = keys.slice(at, at + ADDRESSES_PER_FILTER).map((key) => `0x${key.padStart(64, '0')}`);
      const filter = { fromBlock: '0x0', toBlock: 'latest', address, topics: [TRANSFER_TOPIC, null, payees] };
      for (const log of await rpc<readonly Log[]>('eth_getLogs', [filter])) {
        const units = BigInt(log.data);
        const to = log.topics[2]?.slice(-40) ?? '';
        const { blockHash: block, transactionHash: tx, logIndex } = log;
        if (units > 0n) found.push({ block, tx, position: Number(logIndex), currency, to, units: String(units) });
      }
    }
  }
  return found;
}
