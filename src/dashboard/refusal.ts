/**
 * Pages that say why a request was refused, without anything about who is signed in.
 */
import type { Response } from 'express';
import { type Html, html } from '../lib/html.ts';
import { documentOf } from './frame.ts';
import type { Words } from './texts.ts';

type Refused = 400 | 403 | 404 | 429 | 500 | 503;

/** Answers with a page of one sentence, which says what to do next. */
export function refuse(words: Words, response: Response, status: Refused, message: string | Html): void {
  const title = words.say(`refusal.title_${status}`);
  const body = html`<main id="main" class="narrow"><h1>${title}</h1><p>${message}</p><p><a href="/">${words.say('refusal.back')}</a></p></main>`;
  response
    .status(status)
    .type('html')
    .send(documentOf(words, title, body));
}
