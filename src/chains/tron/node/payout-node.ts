/**
 * The indexer's half of TRON's payouts: quotes them, broadcasts signed transactions, and determines their outcome. It
 * has no keys.
 *
 * Methods used: getblock, getaccount, getaccountresource, getchainparameters, triggerconstantcontract,
 * getcandelegatedmaxsize, getdelegatedresourcev2, broadcasthex, gettransactioninfobyid; of the solidified chain
 * getblock, gettransactionbyid, gettransactioninfobyid. Source:
 * https://tronprotocol.github.io/documentation-en/api/http/.
 */

import { invariant, permanent } from '../../../core/fault.ts';
import { type Clock, systemClock } from '../../../lib/clock.ts';
import { agreeOnOutcome, agreeOnPaid } from '../../outcome-quorum.ts';
import { bySymbol, type PayoutNode, type PayoutNodeOptions, type WalletBalance } from '../../spend.ts';
import { tronAddress } from '../address.ts';
import { TRON_EXPIRY_MS } from '../expiry.ts';
import { readBroadcast } from './payout-broadcast.ts';
import { readHeld, readNative } from './payout-calls.ts';
import { askCost, askOutcome } from './payout-outcome.ts';
import { askQuote } from './payout-quote.ts';
import { expectChain, openTronRpc } from './rpc.ts';

const BROADCAST_PATH = '/wallet/broadcasthex';
/** Concurrent requests. Payouts need few. */
const CONCURRENCY_MAX = 4;
const IDLE_MS_MAX = 60_000;

/**
 * Starts connecting to a bridge; connects to a node at the first request.
 * @throws Fault permanent `node_url_invalid`, or `payouts_need_finality` if no URL of the solidified chain is
 * configured
 */
export function openPayoutNode(options: PayoutNodeOptions, clock: Clock = systemClock): PayoutNode {
  const { chainId, tokens, witnessUrl, finalityUrl, expiryMs = TRON_EXPIRY_MS } = options;
  if (finalityUrl === null) {
    throw permanent(
      'payouts_need_finality',
      'payouts need the solidified chain, and solid_url of this network is null: set it to the URL that serves /walletsolidity/, or remove it to use the default',
    );
  }
  const limits = { ...options, concurrencyMax: CONCURRENCY_MAX, idleMsMax: IDLE_MS_MAX };
  const main = openTronRpc(limits, clock);
  const { finalityUrl: _mains, ...ofWitness } = limits;
  const nodes = witnessUrl === undefined ? [main] : [main, openTronRpc({ ...ofWitness, url: witnessUrl }, clock)];
  const tokenKeys = tokens.map(({ address }) => {
    const key = tronAddress.parse(address);
    invariant(key, `the token address ${address} is a valid TRON address`);
    return key;
  });
  let stampedMs = 0;

  function stamp(headMs: number): number {
    stampedMs = Math.max(headMs, stampedMs + 1);
    return stampedMs;
  }

  async function balance(key: string): Promise<WalletBalance> {
    await expectChain(main, chainId);
    const [native, ...held] = await Promise.all([
      readNative(main, key),
      ...tokenKeys.map((token) => readHeld(main, token, key)),
    ]);
    return { native: native ?? 0n, tokens: bySymbol(tokens, held) };
  }

  return {
    balance,
    count: async () => null,
    quote: (draft) => askQuote(main, { draft, chainId, tokenKeys, stamp, expiryMs }),
    async broadcast(bytes) {
      const transaction = Buffer.from(bytes).toString('hex');
      const answer = await main.ask({ path: BROADCAST_PATH, body: { transaction } });
      return readBroadcast(answer, { path: BROADCAST_PATH, host: main.host });
    },
    async paidBy(draft, tx) {
      return agreeOnPaid(await Promise.all(nodes.map((node) => askCost(node, { draft, chainId }, tx))));
    },
    async outcome(draft, attempts) {
      if (attempts.length === 0) return { kind: 'waiting', included: null };
      const question = { draft, attempts, chainId };
      return agreeOnOutcome(await Promise.all(nodes.map((node) => askOutcome(node, question))));
    },
    async close() {
      await Promise.all(nodes.map(({ transport }) => transport.close()));
    },
  };
}
