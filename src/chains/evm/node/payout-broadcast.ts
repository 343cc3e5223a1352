/**
 * Interprets the answers of nodes to `eth_sendRawTransaction`. Pure.
 *
 * Sources: the texts of go-ethereum (`core/txpool/errors.go`, `core/error.go`) and its forks, Erigon, Nethermind, Besu,
 * reth and anvil.
 */
import { nonsense, type Origin, type RpcAnswer } from '../../json-rpc.ts';
import type { Broadcast } from '../../spend.ts';
import { evmErrors } from '../rpc-errors.ts';
import { hex, WORD } from '../wire.ts';
import { errorFault } from './rpc.ts';

/** The node has the transaction, or its nonce is used by this transaction or by another. `outcome` finds out which. */
const KNOWN =
  /already ?known|known transaction|already (imported|exists|in (the )?pool)|nonce (is )?too low|old ?nonce/i;

/** The order matters: "replacement transaction underpriced" also contains "underpriced". */
const rejections: readonly (readonly [code: string, text: RegExp])[] = [
  ['replacement_underpriced', /replacement .*underpriced|replacement ?not ?allowed|could not replace|gas price bump/i],
  ['fee_capped', /exceeds the configured cap/i],
  ['fee_too_low', /underpriced|fee ?too ?low|(max fee|fee cap|gas price).*(less than|below|too low)/i],
  ['native_short', /insufficient ?(funds|balance)|overshot|balance too low/i],
  ['nonce_gap', /nonce (is )?too (high|far)|nonce ?gap/i],
  ['gas_limit', /intrinsic gas|exceeds (the )?(block )?gas limit|gas ?limit|gas uint64/i],
  ['pool_full', /pool is full|txpool (is )?full|pool limit|(too many|exceeds?) .*(pending|queued|slots)/i],
];

/**
 * Returns what the node did with the transaction.
 * @throws Fault transient if the answer says nothing about the transaction
 */
export function readBroadcast(answer: RpcAnswer, origin: Origin): Broadcast {
  if (answer.ok) {
    if (WORD.test(hex(answer.result))) return { kind: 'accepted' };
    throw nonsense(origin, 'answered without a transaction hash');
  }
  const { error } = answer;
  const { message } = error;
  if (KNOWN.test(message)) return { kind: 'known' };
  const [code] = rejections.find(([, text]) => text.test(message)) ?? [];
  if (code === undefined && evmErrors.some(({ is }) => is(error))) throw errorFault(error, origin);
  return { kind: 'rejected', code: code ?? 'node_refused', message: errorFault(error, origin).message };
}
