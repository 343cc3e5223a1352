/**
 * The payment page inside a merchant's page: who may frame it, and the script that opens it there.
 */
import type { Router } from 'express';
import type { Config } from '../config/config.ts';
import { invariant } from '../core/fault.ts';
import { staticDocument } from '../web/static-document.ts';
import { EMBED, readAsset } from './assets.ts';
import { allWords } from './texts.ts';

/** The script's URL never changes, so browsers check for a new version from time to time. */
const AGE_S = 300;
const PLACE = "'WORDS'";
const ORIGIN_PLACE = "'ORIGIN'";

/** Returns the script's own texts by language, for the time before the page has loaded. */
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

export function serveEmbed(router: Router, { checkoutUrl }: Pick<Config, 'checkoutUrl'>): void {
  const text = readAsset(EMBED);
  invariant(text.includes(PLACE) && text.includes(ORIGIN_PLACE), `${EMBED} has places for its words and the origin`);
  const script = text
    .replace(PLACE, () => JSON.stringify(JSON.stringify(wordsByLanguage())))
    .replace(ORIGIN_PLACE, () => JSON.stringify(new URL(checkoutUrl).origin));
  const send = staticDocument(() => script, 'js', `public, max-age=${AGE_S}`);
  router.get(`/${EMBED}`, (request, response) => {
    // Any merchant's page may load it: it contains no data of anybody.
    response.set('Cross-Origin-Resource-Policy', 'cross-origin');
    send(request, response);
  });
}

/** Returns the origin that frames the page, if the store allows it. The page sends messages to this origin alone. */
export const acceptParent = (named: string | null, origins: readonly string[]): string | null =>
  named !== null && origins.includes(named) ? named : null;
