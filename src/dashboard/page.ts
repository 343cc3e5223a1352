/**
 * A page of the dashboard: a path, what it needs, and its answer. `app.ts` checks the need before the page is
 * asked anything.
 */
import type { Needs } from '../acts/act.ts';
import { type InstallationPermission, isAllowed, type Need, type StorePermission } from '../core/access.ts';
import type { Mode } from '../core/transfer.ts';
import type { Html } from '../lib/html.ts';
import type { Words } from './texts.ts';
import type { Visitor } from './web-session.ts';

/** A request that may see the page. `at` is the store and mode of its path, if it has them. */
export type Visit<At> = Readonly<{
  visitor: Visitor;
  at: At;
  /** The path that was asked for. */
  path: string;
  /** The path's parameters. */
  params: Readonly<Record<string, string>>;
  query: URLSearchParams;
  /** The fields of a form. */
  form: Readonly<Record<string, string>>;
  nowMs: number;
  /** Gives the browser another token of its session. */
  renew(token: string): void;
  /** The time zone of the page: the store's, or UTC. */
  zone: string;
  /** The language of the page. */
  words: Words;
}>;

/** A file by that name. */
export type FileReply = Readonly<{ file: string; type: string; parts: AsyncIterable<string> }>;

/**
 * A page (of status 200), a redirect with what the next page says, a file that is written part by part, or null where
 * there is nothing by that name.
 */
export type Reply =
  | Readonly<{ title: string; content: Html; status?: number }>
  | Readonly<{ to: string; said?: string }>
  | FileReply
  | null;

type Described = Readonly<{ method: 'get' | 'post'; path: string }>;

export type StoreAt = Readonly<{ storeId: string; mode: Mode }>;

/** Returns the path of a page of a store and mode. */
export const pathIn = ({ storeId, mode }: StoreAt, page: string): string => `/s/${storeId}/${mode}/${page}`;

/** Returns a path with the values of its parameters. */
export const filled = (path: string, values: Readonly<Record<string, unknown>>): string =>
  path.replace(/:(\w+)/g, (_, name: string) => encodeURIComponent(String(values[name] ?? '')).replaceAll('%3A', ':'));

/** Whether the visitor may do something, in the store and mode of the page. */
export const may = ({ at, visitor }: Pick<Visit<StoreAt | null>, 'at' | 'visitor'>, needs: Needs): boolean =>
  needs === 'to be signed in' || isAllowed(visitor.person.memberships, { permission: needs, ...at } as Need);

/** A page of one store and mode, below `/s/:store/:mode`. */
export type StorePage = Described & Readonly<{ needs: StorePermission; answer(visit: Visit<StoreAt>): Promise<Reply> }>;

/** A page about the installation, or one for everybody who is signed in. */
export type CommonPage = Described &
  Readonly<{ needs: InstallationPermission | 'to be signed in'; answer(visit: Visit<null>): Promise<Reply> }>;

export type Page = StorePage | CommonPage;

export const isStorePage = (page: Page): page is StorePage => page.path.startsWith('/s/:store/:mode/');

/** Whether only people of the installation open the page, whose texts are in English only. */
export const isOperatorPage = (page: Page): boolean => !isStorePage(page) && page.needs !== 'to be signed in';
