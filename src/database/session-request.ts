/**
 * A merchant's request for a session: its price, its order, and where its payer goes.
 */
import type { Currency, NetworkKey } from '../core/transfer.ts';

export type LineItem = Readonly<{
  price_data: Readonly<{
    currency: string;
    unit_amount: number;
    product_data: Readonly<{ name: string; description?: string }>;
  }>;
  quantity: number;
}>;

/**
 * The locked conversion of a session that is not at par. `sources`: whose rates it was made of; null or left out where
 * that is not known.
 */
export type Conversion = Readonly<{
  rate: string;
  currency: Currency;
  amountMinor: bigint;
  sources?: readonly string[] | null;
}>;

/** A merchant's data about the payer: goods, free texts and pages of the shop. */
export type OrderDetails = Pick<SessionRequest, 'description' | 'lineItems' | 'successUrl' | 'cancelUrl' | 'metadata'>;

/** The request of a session. Never changes. Amounts are in the session currency's minor units. */
export type SessionRequest = Readonly<{
  orderId: string;
  amountMinor: bigint;
  currency: string;
  description: string | null;
  lineItems: readonly LineItem[] | null;
  taxMinor: bigint | null;
  shippingMinor: bigint | null;
  successUrl: string | null;
  cancelUrl: string | null;
  metadata: Readonly<Record<string, string>> | null;
  /** An endpoint for this session only (quick-start variant), in addition to those of the store. */
  webhookUrl: string | null;
}>;

/** One way to pay, fixed when the session is created. `units` are base units of the token on that network. */
export type PaymentOption = Readonly<{
  /** The configured name, as the API shows it. */
  network: string;
  networkKey: NetworkKey;
  family: string;
  chainId: string;
  currency: Currency;
  token: string;
  decimals: number;
  units: bigint;
  confirmationsRequired: number;
}>;
