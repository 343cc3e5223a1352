/**
 * A second way to read a block's transfers: other requests than the follower makes, read by other code. Only the
 * connection to the node is shared.
 * @module
 */
import * as z from 'zod';
import type { BlockRef } from '../../src/core/block.ts';
import { type Fault, transient } from '../../src/core/fault.ts';
import type { SecondTransfer } from './difference.ts';

export interface SecondReading {
  /** The requests that it makes, for people to read. */
  readonly method: string;
  /**
   * Returns all transfers of the configured tokens in a block, without those of nothing.
   * @throws Fault transient `node_*`; `node_block_unknown` if the node's chain does not have the block (any more)
   */
  read(block: BlockRef): Promise<readonly SecondTransfer[]>;
  close(): Promise<void>;
}

/** Returns an answer with the expected shape. @throws Fault transient `node_nonsense` */
export function expectShape<T extends z.ZodType>(schema: T, value: unknown, what: string): z.infer<T> {
  const { data, error } = schema.safeParse(value);
  if (data !== undefined) return data;
  throw transient('node_nonsense', `the second reading: ${what} is malformed: ${error && z.prettifyError(error)}`);
}

export const blockUnknown = ({ number, hash }: BlockRef, host: string): Fault =>
  transient('node_block_unknown', `the second reading: ${host} does not have block ${number} ${hash}`);

/** The parts of an answer do not fit together. */
export const contradictory = ({ number, hash }: BlockRef, what: string): Fault =>
  transient('node_content_contradictory', `the second reading: block ${number} ${hash} has ${what}`);
