/**
 * The part of the port that keeps how a store's payment page looks, and who may show it.
 * @module
 */

/** A picture of the store's own; `hash` is the SHA-256 of its bytes, in hex. */
export type Logo = Readonly<{ type: 'png' | 'svg'; hash: string; bytes: Uint8Array }>;

/** How a store's payment page looks, and where it may be shown. */
export type PageSettings = Readonly<{
  /** `#rrggbb` in lower case; null for the page's own colour. */
  accent: string | null;
  /** Origins whose pages may show the payment page in a frame; none: nobody may. */
  embedOrigins: readonly string[];
  logo: Omit<Logo, 'bytes'> | null;
}>;

/** What is left out stays as it is. */
export type PageSettingsChange = Partial<Omit<PageSettings, 'logo'>> & Readonly<{ logo?: Logo | null }>;

export interface PageSettingsDatabase {
  /** @returns false when there is no such store */
  renameStore(id: string, name: string): Promise<boolean>;
  setPageSettings(storeId: string, change: PageSettingsChange): Promise<void>;
  /** What a store has said about its page; the defaults when it has said nothing. */
  findPageSettings(storeId: string): Promise<PageSettings>;
  /** The logo with this hash; null when the store has another one, or none. */
  findLogo(storeId: string, hash: string): Promise<Logo | null>;
}
