/**
 * Reads requests to the page.
 */
import type { Request, RequestHandler, Response } from 'express';
import type { Sessions } from '../database/database.ts';
import type { Session } from '../database/session.ts';
import { queryOf, readForm } from '../lib/form.ts';
import { parseSessionId } from '../lib/id.ts';
import type { Choice } from './model.ts';
import { chooseWords, type Words } from './texts.ts';

/** Answers 404 if `waitS` is null, and otherwise 429 with the seconds to wait. */
export type Refuse = (request: Request, response: Response, waitS: number | null) => void;

/** Creates the parser of a form's body. */
export const formReader =
  (bytesMax: number): RequestHandler =>
  async (request, _response, next) => {
    request.body = await readForm(request, bytesMax);
    next();
  };

export function asked(request: Request): { choice: Choice; words: Words } {
  const query = queryOf(request);
  const language = query.get('lang');
  const words = chooseWords(language, request);
  const choice: Choice = {
    pay: query.get('pay'),
    token: query.get('token'),
    walletQr: query.get('qr') === 'wallet',
    parent: query.get('parent'),
    stays: query.get('stay') === '1',
    // Dropped if there is no such language, to keep links short.
    language: language === words.code ? language : null,
    payerToken: query.get('k'),
  };
  return { choice, words };
}

/** Finds the session in the path. */
export async function findSession(sessions: Sessions, request: Request): Promise<Session | null> {
  const id = parseSessionId(String(request.params.id));
  return id === null ? null : sessions.find(id);
}
