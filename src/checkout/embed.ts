/**
 * The page inside a merchant's page: who may frame it, and the script that opens it there.
 * @module
 */
import type { Router } from 'express';
import { invariant } from '../core/fault.ts';
import { staticDocument } from '../lib/static-document.ts';
import { EMBED, readAsset } from './assets.ts';
import { allWords } from './texts.ts';

/** A merchant's page loads the script at an address that stays, so a new version is looked for now and then. */
const AGE_S = 300;
const PLACE = "'WORDS'";

/** The script's own words, by language: until the page is there nobody else can speak. */
function wordsByLanguage() {
  return Object.fromEntries(
    allWords.map(({ code, direction, say }) => [
      code,
      {
        direction,
        title: say('embed_title'),
        close: say('embed_close'),
        loading: say('embed_loading'),
        refused: say('embed_refused'),
        open: say('embed_open'),
      },
    ]),
  );
}

export function serveEmbed(router: Router): void {
  const text = readAsset(EMBED);
  invariant(text.includes(PLACE), `${EMBED} has a place for its words`);
  const script = text.replace(PLACE, () => JSON.stringify(JSON.stringify(wordsByLanguage())));
  const send = staticDocument(script, 'js', `public, max-age=${AGE_S}`);
  router.get(`/${EMBED}`, (request, response) => {
    // Any merchant's page may load it: it holds nothing of anybody.
    response.set('Cross-Origin-Resource-Policy', 'cross-origin');
    send(request, response);
  });
}

/** The origin that frames the page, if it says so and the store allows it. Only this origin is ever told anything. */
export const acceptParent = (named: string | null, origins: readonly string[]): string | null =>
  named !== null && origins.includes(named) ? named : null;
