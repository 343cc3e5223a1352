/**
 * The type of an endpoint: its path, the scope that it needs, its documentation, and its code. `app.ts` serves the list
 * of endpoints and `openapi.ts` documents it; neither knows anything else about an endpoint.
 */
import type { RequestHandler } from 'express';
import type { z } from 'zod';
import type { Config } from '../config/config.ts';
import type { Mode } from '../core/transfer.ts';
import type { Scope, StoreSettings } from '../database/column-values.ts';
import type { Database } from '../database/database.ts';
import type { IssueEndpoint } from '../database/endpoints.ts';
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
  issueEndpoint: IssueEndpoint;
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

/** A JSON object as it was sent. */
export type Sent = Readonly<Record<string, unknown>>;

/** An authenticated request. */
export type Call<Body = unknown, Query = unknown> = Readonly<{
  caller: Caller;
  /** The id in the path, as it is stored; empty if the path has none. */
  id: string;
  /** The body, as the schema reads it. */
  body: Body;
  /** The body, as it was sent; null if it was empty. */
  sent: Sent | null;
  /** The query, as the schema reads it. */
  query: Query;
  /** The path, the same for each way of writing the id. */
  path: string;
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

/** Returns the name of the id in a path; undefined if it has none. */
export const idOf = (path: string): string | undefined => /\{(\w+)\}/.exec(path)?.[1];

/** A body as the reference documents it. */
type Documented<Schema extends z.ZodType> = readonly [schema: Schema, example: unknown];

/** Requests are checked by the schemas with which the reference documents them. */
type EndpointOf<Body extends z.ZodType, Query extends z.ZodObject> = Readonly<{
  method: 'get' | 'post' | 'delete';
  /** OpenAPI template: `/api/v1/…/{session_id}`. */
  path: string;
  scope: Scope;
  operationId: string;
  tag: keyof typeof tags;
  summary: string;
  description: string;
  /** Absent if the endpoint takes none. */
  body?: Documented<Body>;
  /** Returns the code that the documentation has for a field of the body alone. */
  codeOf?(param: string, value: unknown): ErrorCode | undefined;
  /** Says whether a body has another shape than the documented one. `run` reads it from `sent`. */
  hasOtherShape?(sent: Sent): boolean;
  query?: Query;
  answer: Documented<z.ZodType>;
  /** Error codes besides those that follow from the path, the body and the query. */
  errors?: readonly ErrorCode[];
  /** It changes nothing although it is a POST, or only a simulated chain, so it has no use for an Idempotency-Key. */
  isReadOnly?: boolean;
  /** It uses up the nonce in the transaction of what it changes. */
  usesNonce?: true;
  /** HTTP status of a success; 200 if absent. */
  status?: 200 | 201;
  /** Codes that have another name in this endpoint's documentation. */
  renames?: Readonly<Partial<Record<ErrorCode, ErrorCode>>>;
  /** @throws Refusal; Fault `storage_unavailable` */
  run(call: Call<z.infer<Body>, z.infer<Query>>): Promise<Answer>;
}>;

export type Endpoint = EndpointOf<z.ZodType, z.ZodObject>;

/** Returns the endpoint. Its `run` gets what its own schemas read. */
export const endpoint = <Body extends z.ZodType, Query extends z.ZodObject>(one: EndpointOf<Body, Query>): Endpoint =>
  one;
