/**
 * The configuration: read once, checked whole, frozen.
 * @module
 */
import type { Family } from './chains/chain.ts';
import type { Mode, NetworkKey, Token } from './core/transfer.ts';

/** `depth`: so many blocks, the block itself included. `finalized`: the node's own finality; `usual` is the depth to tell payers. */
export type ConfirmationPolicy =
  | Readonly<{ kind: 'depth'; blocks: number }>
  | Readonly<{ kind: 'finalized'; usual: number }>;

/** One network and the node that serves it. */
export type NetworkConfig = Readonly<{
  key: NetworkKey;
  /** The name in the API; unique within a mode. */
  name: string;
  family: Family;
  mode: Mode;
  url: string;
  chainId: string;
  confirmations: ConfirmationPolicy;
  tokens: readonly Token[];
  xpub: string;
  /** Usual time between blocks; paces polling and watchdogs. */
  blockTimeMs: number;
  /** How many of the newest blocks may still be replaced; deeper is a halt. */
  reorgDepthMax: number;
  /** The head is asked for at least this often, bell or no bell. */
  pollMs: number;
  /** True for the built-in simulated network. */
  sandbox: boolean;
}>;

export type Config = Readonly<{
  dataDir: string;
  host: string;
  port: number;
  metricsPort: number;
  /** Where payers and docs links point: the public base URL, without a trailing slash. */
  baseUrl: string;
  checkoutUrl: string;
  logLevel: string;
  networks: readonly NetworkConfig[];
  rates: Readonly<{
    sources: readonly string[];
    /** Stablecoin per unit, as decimal text, for the `static` source. */
    static: Readonly<Record<string, string>>;
    /** node-cron expression. */
    refresh: string;
    ageSMax: Readonly<Record<string, number>>;
  }>;
  webhooks: Readonly<{
    /** CIDR ranges that may be called although they are private. */
    allowCidrs: readonly string[];
    timeoutMs: number;
    responseBytesMax: number;
    perEndpointMax: number;
    retryDelaysS: readonly number[];
  }>;
  limits: Readonly<{
    bodyBytesMax: number;
    requestsPerSecondPerKey: number;
    requestsPerSecondPerAddress: number;
    poolTarget: number;
    outageWaitS: number;
    blocksPerIngestMax: number;
    storageBytesMax: number | null;
  }>;
  sandbox: boolean;
}>;
