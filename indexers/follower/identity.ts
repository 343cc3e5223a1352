/**
 * Checks whether a node is the configured one.
 */
import type { Node, NodeIdentity } from '../../src/chains/chain.ts';
import type { NetworkConfig } from '../../src/config/network.ts';
import { Fault, permanent, transient } from '../../src/core/fault.ts';
import type { Clock } from '../../src/lib/clock.ts';

/** A token that is missing for longer, while the chain goes on, is not there. */
const MISSING_MS_MAX = 600_000;

/** Identity of the nodes by the settings. */
type Expected = Pick<NetworkConfig, 'key' | 'chainId' | 'tokens'>;

interface IdentityProof {
  /**
   * Checks the node's identity again, unless it was proven less than `ageMsMax` ago on the present connection.
   *
   * A node that has just started may show an old state, without a token: it is asked again (`token_missing`). The token
   * is not there if the node shows a state that is no older than our tip, or goes on like that for ten minutes.
   * @param tipNumber the highest block that was read from this chain; null if there is none
   * @throws Fault as `checkIdentity` does, or transient if the node does not answer
   */
  renew(ageMsMax: number, tipNumber: number | null): Promise<void>;
}

/** Starts without a proof. A node may be replaced without any failed request, so no proof is valid for ever. */
export function createIdentityProof(
  network: Expected,
  node: Pick<Node, 'identity' | 'head' | 'health'>,
  clock: Pick<Clock, 'nowMs'>,
): IdentityProof {
  let proven: Readonly<{ atMs: number; connections: number }> | null = null;
  /** Since when a token has been missing, and the number of the block in whose state it was looked up then. */
  let missing: Readonly<{ sinceMs: number; stateNumber: number }> | null = null;

  /** Returns the fault of a missing token: transient for as long as the node may be starting. */
  function missingFault(fault: Fault, stateNumber: number, tipNumber: number | null): Fault {
    missing ??= { sinceMs: clock.nowMs(), stateNumber };
    const isCurrent = tipNumber !== null && stateNumber >= tipNumber;
    const lasts = clock.nowMs() - missing.sinceMs >= MISSING_MS_MAX && stateNumber > missing.stateNumber;
    return isCurrent || lasts ? permanent('token_not_a_contract', fault.message) : fault;
  }

  return {
    async renew(ageMsMax, tipNumber) {
      const now = { atMs: clock.nowMs(), connections: node.health().connections };
      if (proven?.connections === now.connections && now.atMs - proven.atMs < ageMsMax) return;
      const found = await node.identity();
      try {
        checkIdentity(network, found);
      } catch (error) {
        if (!(error instanceof Fault)) throw error;
        if (error.code === 'token_missing') throw missingFault(error, found.stateNumber ?? 0, tipNumber);
        if (error.code !== 'token_not_a_contract' || tipNumber === null) throw error;
        const { number } = await node.head();
        throw number < tipNumber ? notYet(error, number, tipNumber) : error;
      }
      missing = null;
      proven = now;
    },
  };
}

/** A node that has yet to reach what was read already, as with an empty database, cannot know the tokens. */
const notYet = ({ message }: Fault, number: number, tipNumber: number): Fault =>
  transient(
    'token_missing',
    `${message}. But its newest block is ${number}, and ${tipNumber} was read already: wait until it has caught up, or give it its database back`,
  );

/**
 * Compares the node's identity with the configuration. Money on another chain, or counted with other decimals, would be
 * credited wrongly, so a difference stops the network until it is over, or a person has corrected it.
 * @throws Fault permanent `chain_id_mismatch` or `decimals_mismatch`, naming the expected and the found value; or the
 * fault with which the node's client reports a token
 */
function checkIdentity(network: Expected, found: NodeIdentity): void {
  if (found.chainId !== network.chainId) {
    throw permanent(
      'chain_id_mismatch',
      `${network.key}: expected a node of chain ${network.chainId}, found chain ${found.chainId}. Set the network's url to a node of the right chain, or correct its chain_id, and restart. If the node proves to be the right one for a minute, the network continues by itself`,
    );
  }
  for (const { symbol, address, decimals } of network.tokens) {
    const shown = found.decimals.get(address);
    if (shown instanceof Fault) throw shown;
    if (shown === decimals) continue;
    throw permanent(
      'decimals_mismatch',
      `${network.key}: expected ${symbol} at ${address} to have ${decimals} decimals, found ${shown ?? 'none'}. Correct the token's address or decimals, and restart. If the node shows the expected value for a minute, the network continues by itself`,
    );
  }
}
