/**
 * A store's logo: a small PNG, shown as payers see it, uploaded and removed.
 */
import { createHash } from 'node:crypto';
import { type Sentence, say } from '../../acts/act.ts';
import type { PageSettings } from '../../database/column-values.ts';
import type { Logo } from '../../database/stores.ts';
import { type Html, html } from '../../lib/html.ts';
import { section } from '../../web/list.ts';
import { browserAct, formOf } from '../act-form.ts';
import type { DashboardDeps } from '../deps.ts';
import { pathIn, type StoreAt, type StorePage, type Visit } from '../page.ts';

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

const PATH = '/s/:store/:mode/settings/logo';

/** Returns the width and height of a PNG in pixels; null for what is none. */
function pngSize(bytes: Buffer): readonly [width: number, height: number] | null {
  if (bytes.length < PNG_BYTES_MIN || !bytes.subarray(0, PNG_START.length).equals(PNG_START)) return null;
  return [bytes.readUInt32BE(PNG_SIZE_AT), bytes.readUInt32BE(PNG_SIZE_AT + 4)];
}

/** Reads a logo in base64. */
function readLogo(text: string): Logo | Sentence {
  const bytes = Buffer.from(text, 'base64');
  if (bytes.length === 0) return say('store-logo.no_file');
  const isFit = bytes.length <= LOGO_BYTES_MAX && pngSize(bytes)?.every((pixels) => pixels > 0 && pixels <= PIXELS_MAX);
  if (!isFit) return say('store-logo.refused', { kib: LOGO_BYTES_MAX / 1024, pixels: PIXELS_MAX });
  return { hash: createHash('sha256').update(bytes).digest('hex'), bytes };
}

const setLogo = browserAct({
  needs: 'store:manage',
  name: 'store set logo',
  fields: {
    logo: {
      label: say('store-logo.file'),
      hint: say('store-logo.hint', { kib: LOGO_BYTES_MAX / 1024 }),
      isFile: true,
      isRequired: true,
      read: readLogo,
    },
  },
  plan: async ({ scope }, { logo }) => ({ storeId: scope?.storeId ?? '', logo }),
  target: ({ storeId }) => storeId,
  async run({ database }, { storeId, logo }) {
    await database.stores.setPageSettings(storeId, { logo });
    return { said: say('store-logo.saved'), json: {} };
  },
});

const removeLogo = browserAct({
  needs: 'store:manage',
  name: 'store remove logo',
  plan: async ({ scope }) => ({ storeId: scope?.storeId ?? '' }),
  target: ({ storeId }) => storeId,
  async run({ database }, { storeId }) {
    await database.stores.setPageSettings(storeId, { logo: null });
    return { said: say('store-logo.removed'), json: {} };
  },
});

const setting = formOf(setLogo, { path: PATH, inputs: ['logo'], formBytesMax: FORM_BYTES_MAX });
const removing = formOf(removeLogo, { path: `${PATH}/remove` });

/** Forms of the page of settings. */
export const logoForms = [setting, removing];

export const logoPicture = (deps: DashboardDeps): StorePage => ({
  method: 'get',
  path: `${PATH}/:hash`,
  needs: 'store:manage',
  async answer({ at, params }) {
    const image = await deps.database.stores.findLogo(at.storeId, params.hash ?? '');
    return image && { image, type: 'image/png' };
  },
});

/** Shows the logo as payers see it, by day and by night, and the forms to set and remove it. */
export function logoSection(visit: Visit<StoreAt>, { logo }: PageSettings): Html {
  const { at, words } = visit;
  const picture = (scheme: (typeof schemes)[number]) =>
    html`<img class="logo ${scheme}" src="${pathIn(at, `settings/logo/${logo}`)}" alt="${words.say(`store-logo.${scheme}`)}" height="40"> `;
  const shown =
    logo === null
      ? html`<p>${words.say('store-logo.none')}</p>`
      : html`<p>${schemes.map(picture)}</p>${removing.show(visit, { button: words.say('store-logo.remove') })}`;
  const form = setting.show(visit, { button: words.say('store-logo.save') });
  return section('logo', words.say('store-logo.title'), html`${shown}${form}`);
}
