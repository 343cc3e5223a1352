/**
 * What an endpoint is: where it stands, who may call it, what it says of itself, and what it does. `app.ts` serves the list,
 * `openapi.ts` describes it; neither knows more of an endpoint than this.
 * @module
 */
import type { RequestHandler } from 'express';
import type { z } from 'zod';
import type { Config } from '../config/config.ts';
import type { Mode } from '../core/transfer.ts';
import type { Database, Scope } from '../database/database.ts';
import type { DestinationCheck } from '../database/refunds.ts';
import type { Clock } from '../lib/clock.ts';
import type { Log } from '../lib/log.ts';
import type { Simulate } from '../payments/simulation.ts';
import type { Rates } from '../rates/rates.ts';
import type { ErrorCode } from './errors.ts';

/** Everything the API needs from outside. */
export type ApiDeps = Readonly<{
  database: Database;
  config: Config;
  rates: Pick<Rates, 'quote'>;
  clock: Clock;
  log: Log;
  /** A sentence why this webhook URL is not allowed, or null. */
  checkWebhookUrl(url: string, mode: Mode): Promise<string | null>;
  /** Whether a refund can be paid to an address that somebody typed. */
  checkDestination: DestinationCheck;
  /** True once the process has begun to stop; `/readyz` says so. */
  isDraining?(): boolean;
  /** Present where there are simulated networks. */
  simulate?: Simulate;
  /** Pages for people, behind the same door; a path that they pass on is the API's. */
  pages?: RequestHandler;
  /** Told of every request once it is over; `route` is the template, null where none matched. */
  onAnswered?(answered: Readonly<{ route: string | null; method: string; status: number; ms: number }>): void;
}>;

/** Who signed the request. */
export type Caller = Readonly<{ keyId: string; storeId: string; mode: Mode; scopes: readonly Scope[] }>;

/** An authenticated request. `body` is the JSON object that was sent, or null when the body was empty. */
export type Call = Readonly<{
  caller: Caller;
  params: Readonly<Record<string, string>>;
  body: Readonly<Record<string, unknown>> | null;
  idempotencyKey: string | null;
}>;

/** A success. `replayed` marks an answer that an earlier identical request was already given. */
export type Answer = Readonly<{ body: object; replayed?: boolean }>;

/** The endpoint's part of the reference. Schemas are the ones the endpoint itself uses. */
export type EndpointDoc = Readonly<{
  operationId: string;
  tag: string;
  summary: string;
  description: string;
  /** Schema and named examples of the body; absent when the endpoint takes none. */
  body?: Readonly<{ schema: z.ZodType; examples: Readonly<Record<string, unknown>> }>;
  answer: Readonly<{ schema: z.ZodType; examples: Readonly<Record<string, unknown>> }>;
  /** Codes beyond those that every signed request may meet. */
  errors: readonly ErrorCode[];
}>;

export type Endpoint = Readonly<{
  method: 'get' | 'post';
  /** OpenAPI template: `/api/v1/…/{session_id}`. */
  path: string;
  scope: Scope;
  /** The status of a success; 200 when absent. */
  status?: 200 | 201;
  /** Codes that this endpoint's documentation writes in another way. */
  renames?: Readonly<Partial<Record<ErrorCode, ErrorCode>>>;
  doc: EndpointDoc;
  /** @throws Refusal, or a Fault of the store */
  run(call: Call): Promise<Answer>;
}>;
