/**
 * The indexer's half of Solana payouts: quotes them, broadcasts signed transactions, and determines their outcome. It
 * has no keys.
 *
 * Methods used: getGenesisHash, getMultipleAccounts, getLatestBlockhash, getMinimumBalanceForRentExemption,
 * getRecentPrioritizationFees, sendTransaction, getBlockHeight, getSignatureStatuses, getTransaction.
 * Source: https://solana.com/docs/rpc. The node needs
 * --full-rpc-api and --enable-rpc-transaction-history.
 */

import { invariant } from '../../../core/fault.ts';
import { type Clock, systemClock } from '../../../lib/clock.ts';
import { errorFault } from '../../json-rpc.ts';
import { agreeOnOutcome, agreeOnPaid } from '../../outcome-quorum.ts';
import { bySymbol, type PayoutNode, type PayoutNodeOptions } from '../../spend.ts';
import { unitsHeldBy } from '../account.ts';
import { solanaAddress } from '../address.ts';
import { readRefusal } from '../broadcast-refusal.ts';
import { isBehind, solanaErrors } from '../rpc-errors.ts';
import { tokenAddress } from '../token-account.ts';
import { askCost, askOutcome } from './payout-outcome.ts';
import { askQuote } from './payout-quote.ts';
import { openSolanaRpc } from './payout-rpc.ts';
import { refuseLocked } from './refund-lock.ts';

/**
 * Starts connecting; the first call waits for the connection.
 * @throws Fault permanent `node_url_invalid`
 */
export function openPayoutNode(options: PayoutNodeOptions, clock: Clock = systemClock): PayoutNode {
  const { tokens, witnessUrl } = options;
  const main = openSolanaRpc(options, options, clock);
  const nodes = witnessUrl === undefined ? [main] : [main, openSolanaRpc(options, { url: witnessUrl }, clock)];

  return {
    async balance(key) {
      await main.expectChain();
      const named = tokens.map(({ address }) => tokenAddress(key, address));
      const [wallet, ...held] = await main.accounts([solanaAddress.format(key), ...named], 'confirmed');
      const units = held.map((account) => unitsHeldBy(key, account));
      return { native: wallet?.lamports ?? 0n, tokens: bySymbol(tokens, units) };
    },
    count: async () => null,
    quote: (draft) => askQuote(main, draft),
    async broadcast(bytes) {
      // The engine rebroadcasts. If the node did so too, it would only obscure the outcome.
      const settings = { encoding: 'base64', skipPreflight: false, preflightCommitment: 'confirmed', maxRetries: 0 };
      const answer = await main.rpc.attempt('sendTransaction', [Buffer.from(bytes).toString('base64'), settings]);
      if (answer.ok) return { kind: 'accepted' };
      // A node that is behind has not looked at the transaction, so its answer is no refusal.
      const origin = { method: 'sendTransaction', host: main.host };
      if (isBehind(answer.error)) throw errorFault(answer.error, origin, solanaErrors);
      return readRefusal(answer.error, bytes);
    },
    async paidBy(draft, tx) {
      return agreeOnPaid(await Promise.all(nodes.map((node) => askCost(node, draft, tx))));
    },
    async outcome(draft, attempts) {
      if (attempts.length === 0) {
        await Promise.all(nodes.map((node) => refuseLocked(node, draft)));
        return { kind: 'waiting', included: null };
      }
      invariant(
        attempts.every(({ terms }) => terms.last_valid_block_height !== undefined),
        'every attempt has the last block height at which it is valid',
      );
      return agreeOnOutcome(await Promise.all(nodes.map((node) => askOutcome(node, draft, attempts))));
    },
    async close() {
      await Promise.all(nodes.map(({ transport }) => transport.close()));
    },
  };
}
