/**
 * Answers that a fault changes: those of which the chain that the node reads is not enough to tell the lie.
 */
import { blockByAny } from '../../src/sandbox/evm-arguments.ts';
import { dialects } from '../../src/sandbox/evm-dialect.ts';
import { quantity, stateRootOf } from '../../src/sandbox/evm-render.ts';
import { RpcError, serverError } from '../../src/sandbox/json-rpc.ts';
import { preflightFailure } from '../../src/sandbox/solana-errors.ts';
import type { WorldTransaction } from '../../src/sandbox/transaction.ts';
import { renderLog, tronBlockId } from '../../src/sandbox/tron-render.ts';
import type { FailingChain, InjectedFault } from './faults.ts';

/** One call that a fault hits. */
type Struck = Readonly<{
  fault: InjectedFault;
  chain: FailingChain;
  method: string;
  params: unknown;
  answer: (params: unknown) => unknown;
}>;

// biome-ignore lint/suspicious/noExplicitAny: answers are changed field by field
type Json = any;

const listOf = (params: unknown): Json[] => (Array.isArray(params) ? params : []);
const plusOne = (word: string): string => (BigInt(`0x${word}`) + 1n).toString(16).padStart(word.length, '0');

// ── EVM ──────────────────────────────────────────────────────────────────────────────────────────────────────────────

const DECIMALS_CALL = '0x313ce567';

/** Answers a call of an EVM node. */
export function distortEvm({ fault, chain, params, answer }: Struck): unknown {
  switch (fault.kind) {
    case 'wrong_chain':
      return quantity(Number(chain.chainId) + 1);
    case 'wrong_decimals': {
      const [{ data, input = data }] = listOf(params);
      const answered = String(answer(params));
      return input === DECIMALS_CALL ? `0x${plusOne(answered.slice(2))}` : answered;
    }
    case 'states_gone':
      refuseOldState(chain, params);
      return answer(params);
    case 'send_denied':
      answer(params);
      throw serverError('request failed or timed out');
    default:
      return answer(params);
  }
}

/** @throws RpcError if the question is about a state below the head */
function refuseOldState({ world, dialect = 'ethereum' }: FailingChain, params: unknown): void {
  const block = blockByAny(listOf(params), 1, { ...world, startsFinal: dialects[dialect].startsFinal });
  if (!block || block.number === world.tip().number) return;
  throw serverError(`historical state ${stateRootOf(block)} is not available`);
}

// ── TRON ─────────────────────────────────────────────────────────────────────────────────────────────────────────────

const callFailures = {
  wrong_chain: ['CONTRACT_VALIDATE_ERROR', 'Smart contract is not exist.'],
  call_failed: [
    'OTHER_ERROR',
    "class org.tron.core.vm.program.Program$OutOfTimeException : CPU timeout for 'PUSH1' operation executing",
  ],
} as const;

function callFailure(why: keyof typeof callFailures) {
  const [code, message] = callFailures[why];
  return { result: { code, message: Buffer.from(message).toString('hex') } };
}

/** Answers a call of a java-tron. */
export function distortTron({ fault, chain, method, params, answer }: Struck): unknown {
  switch (fault.kind) {
    case 'call_failed':
      return callFailure('call_failed');
    case 'wrong_chain':
      if (method === 'triggerconstantcontract') return callFailure('wrong_chain');
      return ofOtherChain(chain, answer(params));
    case 'wrong_decimals': {
      const answered: Json = answer(params);
      if ((params as Json).function_selector !== 'decimals()') return answered;
      return { ...answered, constant_result: answered.constant_result.map(plusOne) };
    }
    case 'failed_logs': {
      const answered: Json = answer(params);
      const keep = (info: Json) => withLogs(chain, info);
      return Array.isArray(answered) ? answered.map(keep) : keep(answered);
    }
    case 'send_denied': {
      const { result, code, ...answered }: Json = answer(params);
      if (code !== 'SUCCESS') return { result, code, ...answered };
      return { ...answered, result: false, code: 'OTHER_ERROR', message: 'Other errors.' };
    }
    default:
      return answer(params);
  }
}

/** Changes the id of the first block, which ends with the chain's. */
function ofOtherChain({ chainId, world }: FailingChain, block: Json): unknown {
  if (!block.blockID || block.block_header.raw_data.number > 0) return block;
  return { ...block, blockID: tronBlockId(String(Number(chainId) + 1), 0, world.atOrBelow(0).hash) };
}

/** Gives the info of a failed transaction the logs that it would have had. */
function withLogs({ world }: FailingChain, info: Json): unknown {
  const place = world.find(info.id ?? '');
  const transaction: WorldTransaction | undefined = place?.block.transactions[place.index];
  if (!transaction || transaction.succeeded || transaction.entries.length === 0) return info;
  return { ...info, log: transaction.entries.map(renderLog) };
}

// ── Solana ───────────────────────────────────────────────────────────────────────────────────────────────────────────

const OTHER_GENESIS = '4uhcVJyU9pJkvQyS88uRDiswHXSCkY3zQawwpjk2NsNY';
const SLOTS_BEHIND = 42;
/** Where the decimals of a mint are, and how long it is. */
const DECIMALS_AT = 44;
const MINT_BYTES = 82;

/** Answers a call of a Solana node. */
export function distortSolana(struck: Struck): unknown {
  const { fault, method, params, answer } = struck;
  switch (fault.kind) {
    case 'wrong_chain':
      return OTHER_GENESIS;
    case 'unhealthy':
      throw new RpcError(-32005, `Node is behind by ${SLOTS_BEHIND} slots`, { numSlotsBehind: SLOTS_BEHIND });
    case 'wrong_decimals':
      return withAccounts(answer(params), wrongDecimals);
    case 'restarted':
      // The state of the genesis has no accounts.
      return method === 'getMultipleAccounts' ? withAccounts(answer(params), () => null) : answer(params);
    case 'empty_content':
      // A node that lacks a block's transactions says so.
      throw new RpcError(-32014, `Block status not yet available for slot ${listOf(params)[0]}`);
    case 'blocks_lost':
      return withoutLostBlocks(struck);
    case 'send_denied':
      answer(params);
      // A gateway in front of several nodes: one of them has it, and the answer is another one's.
      throw preflightFailure('BlockhashNotFound');
    default:
      return answer(params);
  }
}

const withAccounts = (answered: Json, change: (account: Json) => unknown) => ({
  ...answered,
  value: answered.value.map(change),
});

function wrongDecimals(account: Json): unknown {
  if (account?.space !== MINT_BYTES) return account;
  const data = Buffer.from(account.data[0], 'base64');
  data.writeUInt8(data.readUInt8(DECIMALS_AT) + 1, DECIMALS_AT);
  return { ...account, data: [data.toString('base64'), 'base64'] };
}

/** Answers as a node that came up from a snapshot; for a while, it lists blocks that it has lost. */
function withoutLostBlocks({ fault, chain, method, params, answer }: Struck): unknown {
  const { roll, lagBlocks } = fault;
  const kept = Math.max(0, chain.world.tip().number - lagBlocks);
  const [slot, ...rest] = listOf(params);
  const isListed = roll % 2 === 0;
  switch (method) {
    case 'getBlocks':
      return (answer(params) as number[]).filter((listed) => listed >= kept || isListed);
    case 'getBlocksWithLimit':
      return answer([Math.max(slot, isListed ? 0 : kept), ...rest]);
    default:
      return slot < kept ? lostBlock(slot, kept, roll) : answer(params);
  }
}

/**
 * The answer changes within seconds, as the snapshot is unpacked and what is below it is cleaned up.
 * @throws RpcError or returns null
 */
function lostBlock(slot: number, first: number, roll: number): null {
  if (roll % 4 === 0) throw new RpcError(-32014, `Block status not yet available for slot ${slot}`);
  if (roll % 4 === 1) throw new RpcError(-32004, `Block not available for slot ${slot}`);
  if (roll % 4 === 2) return null;
  throw new RpcError(-32001, `Block ${slot} cleaned up, does not exist on node. First available block: ${first}`);
}
