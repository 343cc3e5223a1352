/**
 * Operations: an operator's command in the dashboard writes a row, the network's indexer claims it, does the work, and
 * writes its result.
 * @module
 */
import type { AskOutcome, OperationResult, OperationState, Wish } from '../core/operation.ts';
import type { NetworkKey } from '../core/transfer.ts';
import type { OperatorAct } from './audit-log.ts';

export type Operation = Readonly<{
  /** Sorts by the time of asking. */
  id: string;
  network: NetworkKey;
  wish: Wish;
  askedBy: string;
  because: string | null;
  askedAtMs: number;
  state: OperationState;
  startedAtMs: number | null;
  /** How far it is, in words. */
  progress: string | null;
  result: OperationResult | null;
  endedAtMs: number | null;
}>;

/** Which process works on an operation: another process of the same network has another name. */
export type Worker = Readonly<{ id: string; runner: string; nowMs: number }>;

export interface OperationDatabase {
  /**
   * Asks a network's indexer for something, once for an id. A run of sweeps is asked for once for a plan.
   * @returns why not, if not
   */
  askOperation(input: Readonly<{ id: string; network: NetworkKey; wish: Wish }>, act: OperatorAct): Promise<AskOutcome>;
  /**
   * Returns what the indexer should do next, and marks it as running. What has waited too long expires; what another
   * process has begun, which cannot be there any more, begins again or fails.
   */
  claimOperation(network: NetworkKey, runner: string, nowMs: number): Promise<Operation | null>;
  /** Saves how far an operation is. @returns false if it is not this process's any more */
  reportOperation(worker: Worker, progress: string): Promise<boolean>;
  /** Saves the result, with an entry in the audit log. @returns false if it is not this process's any more */
  endOperation(worker: Worker, state: 'done' | 'failed', result: OperationResult): Promise<boolean>;
  findOperation(id: string, nowMs: number): Promise<Operation | null>;
  /** Returns operations, newest first; of a network, if one is named; only those asked for `before` this one. */
  listOperations(
    filter: Readonly<{ network?: NetworkKey; before?: string; limit: number }>,
    nowMs: number,
  ): Promise<readonly Operation[]>;
}
