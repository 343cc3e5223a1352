/**
 * Types of values in columns that `schema.sql` names and SQL does not describe. They stand apart from the commands,
 * because the tables need them.
 */

/** Plain data, as JSON has it. Money is decimal text. */
export type AuditedState = Readonly<Record<string, string | number | boolean | null>> | null;

/** `target` is an id or a network's key; `before` and `after` are what the command replaced and what it left. */
export type AuditedChange = Readonly<{ target: string; before: AuditedState; after: AuditedState }>;

export const proofKinds = ['books', 'seed'] as const;

export type ProofKind = (typeof proofKinds)[number];

/** What a key may do, in the order in which people choose it. */
export const scopes = ['sessions:read', 'sessions:write', 'refunds:read', 'refunds:write', 'webhooks:write'] as const;

export type Scope = (typeof scopes)[number];

export const channelKinds = ['email', 'telegram', 'ntfy', 'slack', 'discord', 'webhook', 'dead-man'] as const;

export type ChannelKind = (typeof channelKinds)[number];

/** An approver's approval as stored with a refund; the signer verifies it. */
export type RefundApproval = Readonly<{ approver: string; untilS: number; signature: string }>;

/** How a store takes part: it calls the API. */
export const channelTypes = ['API'] as const;

/** The freeze of the signer itself, which the signer enforces, whatever this database says. */
export type SeenSignerFreeze = Readonly<{ reason: string; frozenBy: string; frozenAtMs: number }>;
export type ChannelType = (typeof channelTypes)[number];
