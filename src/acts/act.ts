/**
 * An act: what a person changes, once for the terminal and for the browser. `scripts/cli/act-command.ts` makes a
 * command of it, `src/dashboard/act-form.ts` a form, the page that confirms it and its result.
 */

import type { NetworkConfig } from '../config/network.ts';
import type { InstallationPermission, StorePermission } from '../core/access.ts';
import type { TestAnswer } from '../core/delivery.ts';
import { permanent } from '../core/fault.ts';
import type { Currency, Mode } from '../core/transfer.ts';
import type { OperatorAct } from '../database/audit-log.ts';
import type { RefundApproval, Scope } from '../database/column-values.ts';
import type { Database } from '../database/database.ts';
import type { Endpoint, IssueEndpoint } from '../database/endpoints.ts';
import type { NewApiKey } from '../database/keys.ts';
import type { DestinationCheck, Refund } from '../database/refunds/refund.ts';
import type { NewStore } from '../database/stores.ts';

/** A time in a sentence or a fact. */
export type Moment = Readonly<{ atMs: number }>;
/** An address that money goes to: it is shown whole. */
export type Address = Readonly<{ address: string }>;
/** A secret or an id to copy. */
export type Code = Readonly<{ code: string }>;
/** A fact's value: data of no language, a time, an address, a code, or words. */
export type Value = string | number | Moment | Address | Code | Sentence;
/** English with `{name}` places and `backticks` around code. Merchants' sentences are translated by their English. */
export type Sentence = Readonly<{ english: string; values: Readonly<Record<string, Value>> }>;
export type Fact = readonly [label: Sentence, value: Value];

export const say = (english: string, values: Sentence['values'] = {}): Sentence => ({ english, values });

/** Why nothing is done. `field`: the input that is wrong. */
export type Refusal = Readonly<{
  refusal: 'usage' | 'not_found' | 'refused';
  because: Sentence;
  field?: string;
}>;

export const refuse = (refusal: Refusal['refusal'], because: Sentence): Refusal => ({ refusal, because });

export const isRefusal = (result: object): result is Refusal => 'refusal' in result;

export const REASON_CHARS_MAX = 200;

/** Said where a required reason is missing, or too long. */
export const needsReason: Sentence = say('Say why, in at most {max} characters.', { max: REASON_CHARS_MAX });

/** The parts that acts work on. */
export type Context = Readonly<{
  database: Database;
  nowMs: number;
  /** The actor, the time and the reason, as the audit log keeps them. */
  act: OperatorAct;
  /** The store and mode of a merchant's page: nothing else is found there. Null for the operator. */
  scope: Readonly<{ storeId: string; mode: Mode }> | null;
  /** The id of the person who does it in the dashboard. Null for the tool, whose user a store's limits do not bind. */
  personId: string | null;
  networks: readonly NetworkConfig[];
  destinationCheck(): Promise<DestinationCheck>;
  /**
   * Reads what an approver of the signer's has signed for a refund.
   * @throws Fault permanent if it is not that, or for something else than what the refund pays now
   */
  readApproval(refund: Refund, text: string): Promise<RefundApproval>;
  /** @returns why an endpoint cannot have this URL, or null */
  checkWebhookUrl(url: string, mode: Mode): Promise<string | null>;
  /** Sends a signed test event to an endpoint now. @returns null if it was removed */
  sendTestEvent(endpoint: Endpoint): Promise<TestAnswer | null>;
  issue: Issuer;
  /** The dashboard’s address in browsers, without a trailing slash. */
  dashboardUrl: string;
  /** Where payers pay, without a trailing slash. */
  checkoutUrl: string;
  /** The id, without its prefix, of what is made. A form that is sent again has the same one. */
  newId: string;
}>;

/** Makes what is given to merchants; saves nothing. */
export type Issuer = Readonly<{
  /** A key as it is stored (`row`), and its text, which is shown once. */
  key(storeId: string, mode: Mode, scopes: readonly Scope[], nowMs: number): Readonly<{ key: string; row: NewApiKey }>;
  store(name: string, settlementCurrency: Currency, nowMs: number): NewStore;
  endpoint: IssueEndpoint;
}>;

/** An input as people give it: an option of the command, a field of the form. A switch is `yes`. */
export type Field = Readonly<{
  label: Sentence;
  /** The line of the command's help; fields of the browser alone have none. */
  help?: string;
  /** The placeholder of its value, for the help. */
  value?: string;
  choices?: readonly string[];
  /** Values that the form offers, each with its meaning; null for data. The command takes other values, too. */
  offers?: Readonly<Record<string, Sentence | null>>;
  /** Several of them, with commas between them. */
  isList?: true;
  /** The line below its input. */
  hint?: Sentence;
  /** Shown in the empty input. */
  example?: string;
  charsMax?: number;
  /** It is text of a language, such as a name. */
  isProse?: true;
  isSecret?: true;
  /** Values to choose from or to type another. */
  suggestions?: readonly string[];
  /** It is an argument of the command, without its name; one that may be left out stands last. */
  isArgument?: true | 'optional';
  /** The command takes the name of a file, whose content it is, read so; `none` is no file. */
  isFile?: 'utf8' | 'base64';
  /** Nothing is done without it. */
  isRequired?: true;
  /** Returns its value, or what is wrong with the text; it is the text itself where this is left out. */
  read?(text: string): unknown;
}>;

export type Fields = Readonly<Record<string, Field>>;

type ValueOf<F extends Field> =
  F extends Readonly<{ read(text: string): infer Value }> ? Exclude<Value, Sentence> : string;

/** The values read from an act's fields. */
export type InputOf<F extends Fields> = {
  readonly [Name in keyof F]: F[Name] extends Readonly<{ isArgument: true }> | Readonly<{ isRequired: true }>
    ? ValueOf<F[Name]>
    : ValueOf<F[Name]> | undefined;
};

/** The page that confirms; also what a dry run shows. */
export type Review = Readonly<{
  title: Sentence;
  facts?: readonly Fact[];
  /** The consequences, with those that cannot be undone. */
  notes?: readonly Sentence[];
  button: Sentence;
  isDangerous?: true;
}>;

/**
 * The result. `json`: the same for programs; `facts`: values that are shown once, such as a secret; `made`: the title
 * of the page that shows them; `next`: the command that shows how it goes on.
 */
export type Outcome = Readonly<{
  said: Sentence;
  json: Readonly<Record<string, unknown>>;
  facts?: readonly Fact[];
  made?: Sentence;
  next?: string;
  /** It went wrong: the exit code of the command is 1. */
  isBad?: boolean;
  /** The form was sent before, so nothing is made again. */
  isRepeated?: true;
}>;

export type Needs = StorePermission | InstallationPermission | 'to be signed in';

/** Proof that the browser asks for before the act. The second factor is asked for where money or power goes out. */
export type Asks = 'nothing' | 'confirmation' | 'second factor';

type Described<Input, Plan, Needed extends Needs, In extends Context> = Readonly<{
  /** Noun and verb, as the command and as the audit log names it: `key revoke`. */
  name: string;
  needs: Needed;
  needsReason?: true;
  plan(context: In, input: Input): Promise<Plan | Refusal>;
  /** A confirmation, if it is left out. */
  asks?: Asks | ((plan: Plan) => Asks);
  /** Waits for somebody else, such as an endpoint, outside the transaction and before `run`, which gets its result. */
  before?(context: In, plan: Plan): Promise<Plan | Refusal>;
  /** Does what was planned, in one transaction with its entry in the audit log. */
  run(context: In, plan: Plan): Promise<Outcome | Refusal>;
}>;

/** The further parts that a command has. `target`: the id of what it is about, for programs. */
type OfTool<Plan> = Readonly<{ summary: string; review(plan: Plan): Review & Readonly<{ target: string }> }>;

type Fielded<Input> = Readonly<{ fields: { readonly [Name in keyof Input]: Field } }>;

/** An act. Without a review it is done at once. */
export type Act<Input, Plan extends object, Needed extends Needs = Needs, In extends Context = Context> = Described<
  Input,
  Plan,
  Needed,
  In
> &
  Fielded<Input> &
  Readonly<{ review?(plan: Plan): Review }>;

/** An act that the tool has, too. */
export type Command<Input, Plan extends object, Needed extends Needs = Needs> = Described<
  Input,
  Plan,
  Needed,
  Context
> &
  Fielded<Input> &
  OfTool<Plan>;

/** Returns an act whose input is what its fields read. */
export const defineAct = <const F extends Fields, Plan extends object, Needed extends Needs>(
  act: Readonly<{ fields: F }> & Described<InputOf<F>, Plan, Needed, Context> & OfTool<Plan>,
): Command<InputOf<F>, Plan, Needed> => act;

const isSentence = (value: unknown): value is Sentence =>
  typeof value === 'object' && value !== null && 'english' in value;

/** Returns what reads one of several words. */
export const oneOf =
  <const Word extends string>(words: readonly Word[]) =>
  (text: string): Word | Sentence =>
    words.find((word) => word === text) ??
    say('“{text}” is none of these: {words}.', { text, words: words.join(', ') });

/** Returns the input that texts give, or what is wrong with the first of them. */
export function readInput<Input, Plan extends object>(
  { fields }: Pick<Act<Input, Plan>, 'fields'>,
  texts: Readonly<Record<string, string | undefined>>,
): Readonly<{ input: Input }> | Refusal {
  const input: Record<string, unknown> = {};
  for (const [field, { label, read, isArgument, isRequired }] of Object.entries<Field>(fields)) {
    const text = texts[field]?.trim();
    if (text === undefined) {
      if (isArgument === true || isRequired)
        return { ...refuse('usage', say('“{label}” is missing.', { label })), field };
      continue;
    }
    const value = read ? read(text) : text;
    if (isSentence(value)) return { ...refuse('usage', value), field };
    input[field] = value;
  }
  return { input: input as Input };
}

/** Returns a sentence as English text; times are UTC. */
export const englishOf = ({ english, values }: Sentence): string =>
  english.replace(/\{(\w+)\}/g, (place, name: string) => textOf(values[name] ?? place));

/** Returns a value as English text. */
export function textOf(value: Value): string {
  if (typeof value !== 'object') return String(value);
  if ('english' in value) return englishOf(value);
  if ('address' in value) return value.address;
  if ('code' in value) return value.code;
  return new Date(value.atMs).toISOString().replace('T', ' ').slice(0, 19);
}

/** Returns the fault of a refusal, for programs. @param prefix names the input that is wrong */
export const faultOf = ({ refusal, because, field }: Refusal, prefix: (field: string) => string = String) =>
  permanent(refusal, field === undefined ? englishOf(because) : `${prefix(field)}: ${englishOf(because)}`);
