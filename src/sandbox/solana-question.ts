/**
 * Requests to a simulated Solana node, and the envelope of its answers.
 */
import type { WorldBlock } from './block-tree.ts';
import type { View } from './world.ts';

/** One request: its arguments, and the node's view of the world. */
export type Question = Readonly<{ params: unknown; view: View }>;
export type Method = (question: Question) => unknown;
export type Settings = Readonly<Record<string, unknown>>;

export const listOf = (params: unknown): readonly unknown[] => (Array.isArray(params) ? params : []);
export const settingsOf = (value: unknown): Settings =>
  typeof value === 'object' && value !== null ? (value as Settings) : {};

/** Returns the newest block at a commitment; `finalized` is Solana's default. */
export const newest = (view: View, { commitment }: Settings): WorldBlock =>
  commitment === 'confirmed' || commitment === 'processed' ? view.tip() : view.finalized();

/** @param block the newest one at the commitment of the request */
export const inContext = ({ number }: Pick<WorldBlock, 'number'>, value: unknown) => ({
  context: { apiVersion: '4.2.0', slot: number },
  value,
});
