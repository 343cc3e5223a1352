/**
 * A consensus client's side of the Engine API: builds blocks on a geth, hands it blocks, and chooses its head.
 * Source: https://github.com/ethereum/execution-apis/tree/main/src/engine (Osaka: payloads V5, newPayload V4).
 */
import { createHmac, randomBytes } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { callNode } from '../support/evm-node.ts';
import type { Geth } from './geth.ts';

const ZERO_HASH = `0x${'00'.repeat(32)}`;
const NOBODY = `0x${'00'.repeat(20)}`;
/** geth fills a payload in the background; these are the waits before it is taken, while transactions are missing. */
const FILL_MS = [120, 400, 1_200, 5_000, 15_000] as const;

type Payload = Readonly<{
  blockHash: string;
  parentHash: string;
  blockNumber: string;
  baseFeePerGas: string;
  timestamp: string;
  transactions: readonly string[];
}>;

/** Transactions in a node's pool, by sender and nonce. */
type Pool = Readonly<
  Record<'pending' | 'queued', Record<string, Record<string, Readonly<{ maxFeePerGas?: string; gasPrice: string }>>>>
>;

/** A block as it is handed from one node to another. */
export type Block = Readonly<{ payload: Payload; requests: readonly string[] }>;

/** Block hashes; null: no block is safe, or final. */
export type ForkChoice = Readonly<{ head: string; final: string | null }>;

export type Engine = Readonly<{
  /** Makes a block that geth has its head, and has geth build the next one. That is not in its chain yet. */
  build(choice: ForkChoice, timeS: number, fill: 'from the pool' | 'at once'): Promise<Block>;
  /** Hands geth a block whose parent it has. @throws Error if geth does not call it valid */
  insert(block: Block): Promise<void>;
  /** Makes a block that geth has its head. */
  choose(choice: ForkChoice): Promise<void>;
}>;

const base64url = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');

/** A JSON Web Token (RFC 7519) signed with HMAC-SHA256, as the Engine API asks for with each call. */
function token(secret: string): string {
  const issuedAtS = Math.floor(Date.now() / 1000);
  const signed = `${base64url({ alg: 'HS256', typ: 'JWT' })}.${base64url({ iat: issuedAtS })}`;
  return `${signed}.${createHmac('sha256', Buffer.from(secret, 'hex')).update(signed).digest('base64url')}`;
}

export function openEngine({ engineUrl, engineSecret, rpc }: Geth): Engine {
  type Status = Readonly<{ status: string; validationError: string | null }>;
  const call = async <T>(method: string, params: readonly unknown[]) =>
    (await callNode(engineUrl, method, params, { authorization: `Bearer ${token(engineSecret)}` })) as T;

  const expectValid = ({ status, validationError }: Status, what: string): void => {
    if (status !== 'VALID') throw new Error(`geth calls ${what} ${status}: ${validationError}`);
  };

  async function update({ head, final }: ForkChoice, attributes: object | null): Promise<string | null> {
    const settled = final ?? ZERO_HASH;
    const state = { headBlockHash: head, safeBlockHash: settled, finalizedBlockHash: settled };
    type Updated = Readonly<{ payloadStatus: Status; payloadId: string | null }>;
    const { payloadStatus, payloadId } = await call<Updated>('engine_forkchoiceUpdatedV3', [state, attributes]);
    expectValid(payloadStatus, `the head ${head}`);
    return payloadId;
  }

  async function buildOnce(choice: ForkChoice, timeS: number, fillMs: number): Promise<Block> {
    const attributes = {
      timestamp: `0x${timeS.toString(16)}`,
      // Another one each time: with the same attributes geth answers the payload that it has.
      prevRandao: `0x${randomBytes(32).toString('hex')}`,
      suggestedFeeRecipient: NOBODY,
      withdrawals: [],
      parentBeaconBlockRoot: ZERO_HASH,
    };
    const id = await update(choice, attributes);
    if (id === null) throw new Error('geth builds no block');
    await wait(fillMs);
    type Built = Readonly<{ executionPayload: Payload; executionRequests: readonly string[] }>;
    const { executionPayload, executionRequests } = await call<Built>('engine_getPayloadV5', [id]);
    return { payload: executionPayload, requests: executionRequests };
  }

  return {
    async build(choice, timeS, fill) {
      /** Counts what is in the pool and pays at least this base fee. */
      const waiting = async (baseFee: bigint): Promise<number> => {
        const { pending, queued } = await rpc<Pool>('txpool_content');
        const own = [pending, queued].flatMap((part) => Object.values(part).flatMap((one) => Object.values(one)));
        return own.filter(({ maxFeePerGas, gasPrice }) => BigInt(maxFeePerGas ?? gasPrice) >= baseFee).length;
      };
      if (fill === 'at once' || (await waiting(0n)) === 0) return buildOnce(choice, timeS, 0);
      let block: Block | null = null;
      for (const fillMs of FILL_MS) {
        block = await buildOnce(choice, timeS, fillMs);
        // Mined transactions leave the pool a moment later, so they are counted again.
        if (block.payload.transactions.length >= (await waiting(BigInt(block.payload.baseFeePerGas)))) break;
      }
      return block as Block;
    },
    async insert({ payload, requests }) {
      const status = await call<Status>('engine_newPayloadV4', [payload, [], ZERO_HASH, requests]);
      expectValid(status, `block ${Number(payload.blockNumber)} ${payload.blockHash}`);
    },
    async choose(choice) {
      await update(choice, null);
    },
  };
}
