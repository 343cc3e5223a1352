/**
 * Events as they are stored, for the shops that read them and the operators who look at them.
 */
import type { EventType } from '../core/event.ts';
import type { Mode } from '../core/transfer.ts';
import type { Overrides } from '../core/triggered-event.ts';
import type { RedeliveryDatabase } from './redelivery.ts';

/** `body` is the exact text that every endpoint gets. */
export type StoredEvent = Readonly<{
  id: string;
  storeId: string;
  sessionId: string;
  mode: Mode;
  type: EventType;
  body: string;
  createdAtMs: number;
}>;

/** Ids rise in the order of commits, so whoever reads on from the last id misses none. */
export type EventFilter = Readonly<{
  storeId: string;
  mode: Mode;
  /** Only these types; all if absent. */
  types?: readonly EventType[];
  /** Only ids from here on, and only ids below. */
  fromId: string;
  beforeId: string;
  /** Which of the matching events come first. */
  first: 'newest' | 'oldest';
  limit: number;
}>;

export interface TriggerDatabase {
  /**
   * Saves an event that a developer triggers, and its deliveries; the session stays as it is.
   * @param input `sessionId` null: the store's newest session of test mode
   * @throws Fault permanent `not_found` without such a session, `usage` for an override that is wrong
   */
  triggerEvent(
    input: Readonly<{
      storeId: string;
      sessionId: string | null;
      type: EventType;
      overrides: Overrides;
      nowMs: number;
    }>,
  ): Promise<Readonly<{ id: string; body: string }>>;
}

/** Reading events, triggering them, and sending them again. */
export interface EventDatabase extends RedeliveryDatabase, TriggerDatabase {
  /** Returns at most `limit` events by their ids; the cost does not grow with what is stored. */
  listEvents(filter: EventFilter): Promise<readonly StoredEvent[]>;
  findEvent(id: string): Promise<StoredEvent | null>;
}
