/**
 * In what the chains differ that a simulated EVM node can show: Ethereum as go-ethereum 1.16.9 serves it, and BNB Smart
 * Chain as bnb-chain/bsc 1.7.3 does. `test/fixtures/evm` has the answers that this follows.
 */
import type { WorldBlock } from './block-tree.ts';
import { digest } from './digest.ts';

export const dialectNames = ['ethereum', 'bsc'] as const;
export type DialectName = (typeof dialectNames)[number];

export type EvmDialect = Readonly<{
  clientVersion: string;
  gasLimit: number;
  /** How far below the head the final block is. */
  finalityDistance: number;
  /** The base fee, in wei. */
  baseFee: bigint;
  /** The tip, in wei, that strangers offer, and that is suggested. */
  tip: bigint;
  /** Whether the first block counts as final and safe until there is a later one; otherwise there is none. */
  startsFinal: boolean;
  /** Whether the text of a reverted call ends with its data. */
  showsRevertData: boolean;
  /** Address key of the account that makes the blocks. */
  miner: string;
  /** The fields of a header that differ from Ethereum's. */
  headerFields(block: WorldBlock): Readonly<Record<string, string>>;
  /** Fields of a block that its header has not. */
  blockFields(block: WorldBlock): Readonly<Record<string, string>>;
}>;

const ethereum: EvmDialect = {
  clientVersion: 'Geth/v1.16.9-quayside-sandbox/linux-amd64/go1.26.8',
  gasLimit: 45_000_000,
  // Two epochs.
  finalityDistance: 64,
  baseFee: 1_000_000_000n,
  tip: 1_000_000n,
  startsFinal: false,
  showsRevertData: false,
  miner: digest('miner').slice(0, 40),
  headerFields: () => ({}),
  blockFields: () => ({}),
};

const BSC_VALIDATOR = digest('validator').slice(0, 40);
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
  baseFee: 0n,
  tip: 1_000_000_000n,
  startsFinal: true,
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
};

export const dialects: Readonly<Record<DialectName, EvmDialect>> = { ethereum, bsc };
