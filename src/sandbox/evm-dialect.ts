/**
 * In what the chains differ that a simulated EVM node can show: Ethereum as go-ethereum 1.16.9 serves it, and BNB Smart
 * Chain as bnb-chain/bsc 1.7.3 does. `test/fixtures/evm` has the answers that this follows.
 */
import type { WorldBlock } from './block-tree.ts';
import { digest } from './random.ts';
import type { WorldTransaction } from './transaction.ts';

export const dialectNames = ['ethereum', 'bsc'] as const;
export type DialectName = (typeof dialectNames)[number];

export type EvmDialect = Readonly<{
  clientVersion: string;
  gasLimit: number;
  /** How far below the head the final block is. */
  finalityDistance: number;
  /** The base fee, in wei, of a chain without demand; null if it never moves from 0. */
  baseFeeMin: bigint | null;
  /** The tip, in wei, that strangers offer, and that is suggested where nobody pays another. */
  tip: bigint;
  /** The lowest tip, in wei, that the pool takes. */
  tipMin: bigint;
  /** Whether the first block counts as final and safe until there is a later one; otherwise there is none. */
  startsFinal: boolean;
  /** Whether the pending block is the head without its hash, instead of what would be made next. */
  pendingIsHead: boolean;
  /** Whether the text of a reverted call ends with its data. */
  showsRevertData: boolean;
  /** Address key of the account that makes the blocks. */
  miner: string;
  /** The fields of a header that differ from Ethereum's. */
  headerFields(block: WorldBlock): Readonly<Record<string, string>>;
  /** Fields of a block that its header has not. */
  blockFields(block: WorldBlock): Readonly<Record<string, string>>;
  /** Transactions that the producer adds at the end of a block. */
  seal?(transactions: readonly WorldTransaction[], id: string): WorldTransaction[];
}>;

/** Two epochs. */
export const ETHEREUM_FINALITY = 64;

const ethereum: EvmDialect = {
  clientVersion: 'Geth/v1.16.9-quayside-sandbox/linux-amd64/go1.26.8',
  gasLimit: 45_000_000,
  finalityDistance: ETHEREUM_FINALITY,
  baseFeeMin: 1_000_000_000n,
  tip: 1_000_000n,
  tipMin: 0n,
  startsFinal: false,
  pendingIsHead: false,
  showsRevertData: false,
  miner: digest('miner').slice(0, 40),
  headerFields: () => ({}),
  blockFields: () => ({}),
};

const BSC_VALIDATOR = digest('validator').slice(0, 40);
const BSC_VALIDATOR_CONTRACT = '1000'.padStart(40, '0');
const BLOCK_MS = 450;
/** Bytes of a header's extra data with the attestation of votes. */
const ATTESTED_BYTES = 269;

/** Blocks share a second: the milliseconds follow from the number. */
const millisecondsOf = ({ number }: WorldBlock): number => (number * BLOCK_MS) % 1000;
const hex = (value: number): string => `0x${value.toString(16)}`;
const hashes = (count: number, block: WorldBlock): string =>
  Array.from({ length: count }, (_, at) => digest('extra', block.hash, at)).join('');

const bsc: EvmDialect = {
  clientVersion: 'Geth/v1.7.3-quayside-sandbox/linux-amd64/go1.26.8',
  gasLimit: 55_000_000,
  // The votes on a block are in the next one, and it is final with those on that one.
  finalityDistance: 2,
  baseFeeMin: null,
  tip: 1_000_000_000n,
  tipMin: 1_000_000_000n,
  startsFinal: true,
  pendingIsHead: true,
  showsRevertData: true,
  miner: BSC_VALIDATOR,
  headerFields: (block) => ({
    difficulty: block.number === 0 ? '0x1' : '0x2',
    extraData: `0x${hashes(9, block).slice(0, 2 * ATTESTED_BYTES)}`,
    mixHash: `0x${millisecondsOf(block).toString(16).padStart(64, '0')}`,
    parentBeaconBlockRoot: `0x${'0'.repeat(64)}`,
  }),
  blockFields: (block) => ({
    milliTimestamp: hex(block.timeS * 1000 + millisecondsOf(block)),
    totalDifficulty: hex(1 + 2 * block.number),
  }),
  // The producer deposits the block's fees in the validator contract; a block without fees has no such transaction.
  seal(transactions, id) {
    const units = BigInt(transactions.length) * 100_000_000_000_000n;
    if (units === 0n) return [];
    const deposit = {
      kind: 'deposit',
      token: BSC_VALIDATOR_CONTRACT,
      from: BSC_VALIDATOR,
      to: BSC_VALIDATOR_CONTRACT,
      units,
    } as const;
    const target = BSC_VALIDATOR_CONTRACT;
    return [{ id, sender: BSC_VALIDATOR, target, succeeded: true, entries: [deposit], isSystem: true }];
  },
};

export const dialects: Readonly<Record<DialectName, EvmDialect>> = { ethereum, bsc };
