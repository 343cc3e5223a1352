/** Calls to one Solana node for payouts. Answers are read strictly. */

import { transient } from '../../../core/fault.ts';
import { isFields } from '../../../core/fields.ts';
import type { Clock } from '../../../lib/clock.ts';
import { nonsense } from '../../json-rpc.ts';
import type { PayoutNodeOptions } from '../../spend.ts';
import { createRpcClient, type RpcClient } from '../../transport/rpc-client.ts';
import { openRpcHttp } from '../../transport/rpc-http.ts';
import type { RpcTransport } from '../../transport/rpc-transport.ts';
import { type ChainAccount, readAccount } from '../account.ts';
import { solanaErrors } from '../rpc-errors.ts';
import { readUrls } from './urls.ts';

export type Commitment = 'confirmed' | 'finalized';

/** Concurrent requests. Payouts need few. */
const CONCURRENCY_MAX = 4;
const IDLE_MS_MAX = 60_000;

export type SolanaRpc = Readonly<{
  rpc: RpcClient;
  transport: RpcTransport;
  host: string;
  /**
   * Checks that the node is on the configured chain.
   * @throws Fault transient `node_wrong_chain`
   */
  expectChain(): Promise<void>;
  accounts(addresses: readonly string[], commitment: Commitment): Promise<readonly (ChainAccount | null)[]>;
  /** Calls a method that answers with a whole number of at least zero. */
  whole(method: string, params: readonly unknown[]): Promise<number>;
}>;

/**
 * Connects at the first request.
 * @throws Fault permanent `node_url_invalid`
 */
export function openSolanaRpc(
  options: PayoutNodeOptions,
  urls: Pick<PayoutNodeOptions, 'url' | 'rpcUrl'>,
  clock: Clock,
): SolanaRpc {
  const { rpcUrl, advice } = readUrls(urls);
  const { host } = rpcUrl;
  const limits = { ...options, concurrencyMax: CONCURRENCY_MAX, idleMsMax: IDLE_MS_MAX };
  const transport = openRpcHttp({ ...limits, url: rpcUrl, host, advice }, clock);
  const rpc = createRpcClient(transport, { ...limits, host, meanings: solanaErrors });
  return {
    rpc,
    transport,
    host,
    async expectChain() {
      const genesis = await rpc.call('getGenesisHash', []);
      if (genesis === options.chainId) return;
      throw transient(
        'node_wrong_chain',
        `${host} is on the chain with genesis ${genesis}, not ${options.chainId}, and is not used for payouts: correct the network's url, rpc_url or witness_url`,
      );
    },
    async accounts(addresses, commitment) {
      const origin = { method: 'getMultipleAccounts', host };
      const answer = await rpc.call(origin.method, [addresses, { encoding: 'base64', commitment }]);
      const { value } = isFields(answer) ? answer : {};
      if (!Array.isArray(value) || value.length !== addresses.length) {
        throw nonsense(origin, `answered with something that is not ${addresses.length} accounts`);
      }
      return value.map((account) => readAccount(account, origin));
    },
    async whole(method, params) {
      const value = await rpc.call(method, params);
      if (Number.isSafeInteger(value) && Number(value) >= 0) return Number(value);
      throw nonsense({ method, host }, 'answered without a whole number');
    },
  };
}
