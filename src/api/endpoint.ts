/**
 * The type of an endpoint: its path, the scope that it needs, its documentation, and its code. `app.ts` serves the list
 * of endpoints and `openapi.ts` documents it; neither knows anything else about an endpoint.
 */
import type { RequestHandler } from 'express';
import type { z } from 'zod';
import type { Config } from '../config/config.ts';
import type { ExtendedEventType } from '../core/event.ts';
import type { Mode } from '../core/transfer.ts';
import type { Scope, StoreSettings } from '../database/column-values.ts';
import type { Database } from '../database/database.ts';
import type { NewEndpoint } from '../database/endpoints.ts';
import type { DestinationCheck } from '../database/refunds/refund.ts';
import type { NonceUse } from '../database/replays.ts';
import type { Clock } from '../lib/clock.ts';
import type { Log } from '../lib/log.ts';
import type { Simulate } from '../payments/simulation.ts';
import type { Rates } from '../rates/rates.ts';
import type { ErrorCode } from './errors.ts';

/** Everything the API needs from outside. */
export type ApiDeps = Readonly<{
  database: Database;
  config: Config;
  rates: Pick<Rates, 'quote' | 'pegs'>;
  clock: Clock;
  log: Log;
  /** Says in one sentence why this webhook URL is not allowed, or returns null. */
  checkWebhookUrl(url: string, mode: Mode): Promise<string | null>;
  /** Makes an endpoint with a secret of its own, to be saved. */
  issueEndpoint(
    storeId: string,
    mode: Mode,
    url: string,
    extendedEvents: readonly ExtendedEventType[],
    nowMs: number,
  ): NewEndpoint & Readonly<{ secret: string }>;
  /** Checks whether a refund can be paid to an address that somebody typed. */
  checkDestination: DestinationCheck;
  /** True once the process has begun to stop; `/readyz` says so. */
  isDraining?(): boolean;
  /** Present only if there are simulated networks. */
  simulate?: Simulate;
  /** The payment pages, behind the same middleware. Paths that they do not handle belong to the API. */
  pages?: RequestHandler;
  /** The routes of other programs' protocols, before the pages. */
  doors?: RequestHandler;
  /** Called after every request. */
  onAnswered?(answered: Answered): void;
}>;

/** A request that was answered. `route` is the path template, or null if none matched. */
export type Answered = Readonly<{
  route: string | null;
  method: string;
  status: number;
  ms: number;
}>;

/** The signer of the request. */
export type Caller = Readonly<{
  keyId: string;
  storeId: string;
  mode: Mode;
  scopes: readonly Scope[];
  /** Of the store. */
  settings: StoreSettings;
}>;

/** An authenticated request. `body` is the JSON object that was sent, or null if the body was empty. */
export type Call = Readonly<{
  caller: Caller;
  params: Readonly<Record<string, string>>;
  body: Readonly<Record<string, unknown>> | null;
  /** The part of the path after its `?`. */
  search: URLSearchParams;
  idempotencyKey: string | null;
  /** Returns the nonce, for the transaction of an endpoint that `usesNonce`; null if it is used up. */
  takeNonce(): NonceUse | null;
}>;

/** A success. `replayed` means that an earlier identical request got the same answer. */
export type Answer = Readonly<{ body: object; replayed?: boolean }>;

/** Descriptions of the API's parts, in the order of the reference. */
export const tags = {
  Account: 'What the store of a key can do here, for a plugin that sets itself up.',
  'Payment sessions': 'Ask a payer for money, and read what became of it.',
  Refunds: 'Pay money of a session back.',
  Events: 'What happened, as webhooks send it.',
  'Webhook endpoints': 'Where the events of the store are sent.',
  'Quick start': 'The same sessions, in the shapes of the quick start.',
  Sandbox: 'Payments that cost nothing, on simulated networks.',
  Webhooks: 'Signed requests that this server sends to your endpoints.',
} as const;

type Tag = keyof typeof tags;

/** The endpoint's part of the reference, with the same schemas that the endpoint uses. */
type EndpointDoc = Readonly<{
  operationId: string;
  tag: Tag;
  summary: string;
  description: string;
  /** Schema and named examples of the body; absent if the endpoint takes none. */
  body?: Readonly<{ schema: z.ZodType; examples: Readonly<Record<string, unknown>> }>;
  /** Schemas of the query's parameters, which `readQuery` reads. */
  query?: z.ZodObject;
  answer: Readonly<{ schema: z.ZodType; examples: Readonly<Record<string, unknown>> }>;
  /** Error codes other than those that every signed request can get. */
  errors: readonly ErrorCode[];
}>;

export type Endpoint = Readonly<{
  method: 'get' | 'post' | 'delete';
  /** OpenAPI template: `/api/v1/…/{session_id}`. */
  path: string;
  scope: Scope;
  /** It changes nothing although it is a POST, or only a simulated chain, so it has no use for an Idempotency-Key. */
  isReadOnly?: boolean;
  /** It uses up the nonce in the transaction of what it changes. */
  usesNonce?: true;
  /** HTTP status of a success; 200 if absent. */
  status?: 200 | 201;
  /** Codes that have another name in this endpoint's documentation. */
  renames?: Readonly<Partial<Record<ErrorCode, ErrorCode>>>;
  doc: EndpointDoc;
  /** @throws Refusal; Fault `storage_unavailable` */
  run(call: Call): Promise<Answer>;
}>;
