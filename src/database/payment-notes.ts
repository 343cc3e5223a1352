/**
 * The part of the database port about notes: what a store's people write down about a payment. Neither its payer nor
 * the API is shown them.
 */

/** So many notes about one payment, and characters of one. */
export const PAYMENT_NOTES_MAX = 20;
export const NOTE_CHARS_MAX = 500;

export type PaymentNote = Readonly<{ id: number; atMs: number; author: string; text: string }>;
