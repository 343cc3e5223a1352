/**
 * Pages that say why a request was refused, without anything about who is signed in.
 * @module
 */
import type { Response } from 'express';
import { html } from '../lib/html.ts';
import { documentOf } from './frame.ts';

const titles: Readonly<Record<number, string>> = {
  400: 'The form could not be read',
  403: 'Refused',
  404: 'There is no such page',
  405: 'Not possible here',
  429: 'Too many requests',
  500: 'Something is broken',
  503: 'Not possible right now',
};

/** Answers with a page of one sentence, which says what to do next. */
export function refuse(response: Response, status: number, message: string): void {
  const title = titles[status] ?? 'Refused';
  const body = html`<main id="main" class="narrow"><h1>${title}</h1><p>${message}</p><p><a href="/">Back to the dashboard</a></p></main>`;
  response.status(status).type('html').send(documentOf(title, body));
}
