/**
 * The part of the database port about notes: what a store's people write down about a payment. Neither its payer nor
 * the API is shown them.
 * @module
 */
import type { OperatorAct } from './audit-log.ts';

/** So many notes about one payment, and characters of one. */
export const PAYMENT_NOTES_MAX = 20;
export const NOTE_CHARS_MAX = 500;

export type PaymentNote = Readonly<{ id: number; atMs: number; author: string; text: string }>;

export interface PaymentNoteDatabase {
  /**
   * Saves a note of whoever acts. The audit log says that there is one, not what it says: that is removed with what
   * identifies the payer.
   * @returns null if there is no such session
   */
  addPaymentNote(
    note: Readonly<{ sessionId: string; text: string }>,
    act: OperatorAct,
  ): Promise<'added' | 'full' | null>;
  /** Returns a session's notes, oldest first. */
  listPaymentNotes(sessionId: string): Promise<readonly PaymentNote[]>;
  /** @returns false if the session has no such note */
  removePaymentNote(note: Readonly<{ sessionId: string; id: number }>, act: OperatorAct): Promise<boolean>;
}
