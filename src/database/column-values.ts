/**
 * Types of column values that `schema.sql` names and SQL cannot describe. They stand apart from the commands, because
 * the generated tables import them.
 */
import type { Currency, NetworkKey } from '../core/transfer.ts';

/** Plain JSON data. Money is decimal text. */
export type AuditedState = Readonly<Record<string, string | number | boolean | null>> | null;

/** A change. `target` is an id or a network's key. `before` and `after` are its states around the command. */
export type AuditedChange = Readonly<{ target: string; before: AuditedState; after: AuditedState }>;

/** Rights of keys, in the order of the form that grants them. */
export const scopes = ['sessions:read', 'sessions:write', 'refunds:read', 'refunds:write', 'webhooks:write'] as const;

export type Scope = (typeof scopes)[number];

export const channelKinds = ['email', 'telegram', 'ntfy', 'slack', 'discord', 'webhook', 'dead-man'] as const;

export type ChannelKind = (typeof channelKinds)[number];

/** Progress of a target of notices: its record of alarms, and its last messages. */
export type NoticeProgress = Readonly<{
  /** No alarm up to this id is still to be sent. */
  throughAlarmId: number;
  /** Times of the last notices, by the alarm's id. An alarm leaves the record with the notice of its end. */
  toldAtMs: Readonly<Record<string, number>>;
  /** The time of the last message. */
  triedAtMs: number | null;
  /** Wait after it before the next message. */
  waitMs: number;
  /** Failed messages in a row. */
  tries: number;
  failingSinceMs: number | null;
  lastError: string | null;
  lastSentAtMs: number | null;
  /** Wrong codes that people typed for this target. */
  wrongCodes: number;
}>;

/** An approver's approval as stored with a refund. The signer verifies it. */
export type RefundApproval = Readonly<{ approver: string; untilS: number; signature: string }>;

/** A store's policy, copied into each new session. A change therefore never affects an open session. */
export type StoreSettings = Readonly<{
  settlementCurrency: Currency;
  /** Difference to the due amount with which a payment still counts as full, in stablecoin minor units (0.01). */
  toleranceMinor: number;
  topUpGraceS: number;
  monitoringS: number;
  latePolicy: 'accept' | 'hold';
  /**
   * Conditions of credit besides networks' policies (`src/core/store-credit.ts`). They are not copied into sessions, so
   * a change affects every payment that is not credited yet.
   */
  credit: string;
}>;

/** The look of a store's payment page, and the origins that may embed it. */
export type PageSettings = Readonly<{
  /** `#rrggbb` in lower case; null for the default colour. */
  accent: string | null;
  /** Origins whose pages may embed the payment page in a frame. */
  embedOrigins: readonly string[];
  /** SHA-256 of the logo in hex; null without a logo. */
  logo: string | null;
}>;

/**
 * A passkey (WebAuthn). `id` and `publicKey` (COSE) are base64url. `counter` is its newest signature counter, or 0 if
 * it has none.
 */
export type Passkey = Readonly<{
  id: string;
  name: string;
  publicKey: string;
  counter: number;
  createdAtMs: number;
  usedAtMs: number | null;
}>;

export type LineItem = Readonly<{
  price_data: Readonly<{
    currency: string;
    unit_amount: number;
    product_data: Readonly<{ name: string; description?: string }>;
  }>;
  quantity: number;
}>;

/**
 * The locked conversion of a session that is not at par. `sources`: the sources of its rate; null or absent if unknown.
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

export const doorAlgorithms = ['md5', 'hmac_sha256', 'dual'] as const;

/**
 * The settings of a door. `algorithm`: permitted signatures, of which `dual` permits both. `currency`: of all its
 * prices.
 */
export type DoorSettings = Readonly<{
  currency: string;
  takesRefunds: boolean;
  algorithm: (typeof doorAlgorithms)[number];
}>;
