/**
 * Requests to a simulated Solana node, and the envelope of its answers.
 *
 * @module
 */
import type { WorldBlock } from './block-tree.ts';
import type { FaultKind } from './faults.ts';
import type { View } from './view.ts';

/** One request: its arguments, the node's view of the world, and the fault to apply to the answer. */
export type Question = Readonly<{ params: unknown; view: View; fault: FaultKind | null }>;
export type Method = (question: Question) => unknown;
export type Settings = Readonly<Record<string, unknown>>;

export const listOf = (params: unknown): readonly unknown[] => (Array.isArray(params) ? params : []);
export const settingsOf = (value: unknown): Settings =>
  typeof value === 'object' && value !== null ? (value as Settings) : {};

/** Returns the newest block at a commitment; `finalized` is Solana's default. */
export const newest = (view: View, { commitment }: Settings): WorldBlock =>
  commitment === 'confirmed' || commitment === 'processed' ? view.tip() : view.finalized();

export const inContext = (view: View, value: unknown) => ({
  context: { apiVersion: '4.2.0', slot: view.tip().number },
  value,
});
