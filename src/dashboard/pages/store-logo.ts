/**
 * A store's logo: a small PNG, shown as payers see it, uploaded and removed.
 */
import { createHash } from 'node:crypto';
import type { PageSettings } from '../../database/column-values.ts';
import type { Logo } from '../../database/stores.ts';
import { type Html, html } from '../../lib/html.ts';
import { changeFields, type Planned, storeChange } from '../change.ts';
import type { DashboardDeps } from '../deps.ts';
import type { Reply, StoreAt, StorePage, Visit } from '../page.ts';

export const LOGO_BYTES_MAX = 32 * 1024;
const PIXELS_MAX = 2048;
/** The signature, and the header of the first chunk (https://www.w3.org/TR/png-3/#5DataRep). */
const PNG_START = Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex');
/** Width and height, four bytes each. */
const PNG_SIZE_AT = 16;
const PNG_BYTES_MIN = 33;
/** A file with the fields beside it; what is larger than a logo may be is still read, to say so. */
const FORM_BYTES_MAX = 2 * LOGO_BYTES_MAX;
const schemes = ['light', 'dark'] as const;

const storePath = ({ storeId, mode }: StoreAt): string => `/s/${storeId}/${mode}/settings`;

/** Shows the store's page again, with what is wrong. */
type Back = (visit: Visit<StoreAt>, fault: string) => Promise<Reply>;

export const storeLogoPages = (deps: DashboardDeps, back: Back): readonly StorePage[] => [
  {
    method: 'get',
    path: '/s/:store/:mode/settings/logo/:hash',
    needs: 'store:manage',
    async answer({ at, params }) {
      const image = await deps.database.stores.findLogo(at.storeId, params.hash ?? '');
      return image && { image, type: 'image/png' };
    },
  },
  storeChange(deps, {
    path: '/s/:store/:mode/settings/logo',
    needs: 'store:manage',
    formBytesMax: FORM_BYTES_MAX,
    plan: async (visit) => planLogo(visit, back),
  }),
  storeChange(deps, {
    path: '/s/:store/:mode/settings/logo/remove',
    needs: 'store:manage',
    plan: async (visit) => planChange(visit, null),
  }),
];

/** Shows the logo as payers see it, by day and by night, and the forms to set and remove it. */
export function logoSection(visit: Visit<StoreAt>, { logo }: PageSettings): Html {
  const { at, words } = visit;
  const path = `${storePath(at)}/logo`;
  return html`<section class="card" aria-labelledby="logo"><h2 id="logo">${words.say('store-logo.title')}</h2>
${
  logo === null
    ? html`<p>${words.say('store-logo.none')}</p>`
    : html`<p>${schemes.map((scheme) => html`<img class="logo ${scheme}" src="${path}/${logo}" alt="${words.say(`store-logo.${scheme}`)}" height="40"> `)}</p>
<form method="post" action="${path}/remove">${changeFields(visit)}<button class="plain">${words.say('store-logo.remove')}</button></form>`
}
<form method="post" action="${path}" enctype="multipart/form-data">${changeFields(visit)}
<label>${words.say('store-logo.file')} <input type="file" name="logo" accept="image/png" required></label>
<p class="hint">${words.say('store-logo.hint', { kib: LOGO_BYTES_MAX / 1024 })}</p>
<button class="plain">${words.say('store-logo.save')}</button></form></section>`;
}

/** Returns the width and height of a PNG in pixels; null for what is none. */
function pngSize(bytes: Buffer): readonly [width: number, height: number] | null {
  if (bytes.length < PNG_BYTES_MIN || !bytes.subarray(0, PNG_START.length).equals(PNG_START)) return null;
  return [bytes.readUInt32BE(PNG_SIZE_AT), bytes.readUInt32BE(PNG_SIZE_AT + 4)];
}

function planLogo(visit: Visit<StoreAt>, back: Back): Promise<Reply> | Planned {
  const { form, words } = visit;
  const bytes = Buffer.from(form.logo ?? '', 'base64');
  if (bytes.length === 0) return back(visit, words.say('store-logo.no_file'));
  const isFit = bytes.length <= LOGO_BYTES_MAX && pngSize(bytes)?.every((pixels) => pixels > 0 && pixels <= PIXELS_MAX);
  if (!isFit) return back(visit, words.say('store-logo.refused', { kib: LOGO_BYTES_MAX / 1024, pixels: PIXELS_MAX }));
  return planChange(visit, { hash: createHash('sha256').update(bytes).digest('hex'), bytes });
}

const planChange = ({ at, words }: Visit<StoreAt>, logo: Logo | null): Planned => ({
  command: logo === null ? 'remove logo' : 'set logo',
  target: at.storeId,
  review: null,
  async act(database) {
    await database.stores.setPageSettings(at.storeId, { logo });
    return { to: storePath(at), said: words.say(logo === null ? 'store-logo.removed' : 'store-logo.saved') };
  },
});
