/**
 * The part of the port for the look of a store's payment page, and who may embed it.
 */

/** A store's logo; `hash` is the SHA-256 of its bytes, in hex. */
export type Logo = Readonly<{ type: 'png' | 'svg'; hash: string; bytes: Uint8Array }>;

/** How a store's payment page looks, and where it may be embedded. */
export type PageSettings = Readonly<{
  /** `#rrggbb` in lower case; null for the default colour. */
  accent: string | null;
  /** Origins whose pages may embed the payment page in a frame. */
  embedOrigins: readonly string[];
  logo: Omit<Logo, 'bytes'> | null;
  /** Where answers to receipts by mail go; null: payers cannot have one. */
  receiptsReplyTo: string | null;
}>;

/** Omitted settings stay as they are. */
export type PageSettingsChange = Partial<Omit<PageSettings, 'logo'>> & Readonly<{ logo?: Logo | null }>;
