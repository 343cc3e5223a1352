/**
 * The requests that the dashboard takes from browsers.
 */
import type { RequestHandler } from 'express';
import { isOwnName } from '../lib/own-name.ts';
import { refuse } from './frame.ts';
import type { Languages } from './texts.ts';

/** Answers to its own name only: not to a site whose name was let resolve to this machine (DNS rebinding). */
export function onlyOwnName(url: string): RequestHandler {
  const { host: own } = new URL(url);
  return (request, response, next) => {
    const host = request.get('Host') ?? '';
    if (host === own || isOwnName(host)) next();
    else response.status(421).type('text').send(`This is ${url}\n`);
  };
}

/**
 * Refuses forms that were not sent by the dashboard's own pages: `Sec-Fetch-Site` must be `same-origin`
 * (`same-site` covers other ports of the host). A browser that does not send it must send the configured address as
 * `Origin`; the `Host` header proves nothing, because a proxy may change it.
 * @param url the dashboard's address, without a trailing slash
 */
export const onlyOwnForms =
  (url: string, languages: Languages): RequestHandler =>
  (request, response, next) => {
    const site = request.get('Sec-Fetch-Site');
    const isReading = request.method === 'GET' || request.method === 'HEAD';
    const isOwn = site === undefined ? request.get('Origin') === url : site === 'same-origin';
    if (isReading || isOwn) {
      next();
      return;
    }
    const said = 'Forms are taken only from {url}. Open the dashboard at that address and try again.';
    refuse(languages, response, 403, said, { url });
  };
