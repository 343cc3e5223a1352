/**
 * Shows and changes how a store's payment page looks, and which sites may show it in a frame.
 * @module
 */
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { permanent } from '../../src/core/fault.ts';
import { LOGO_BYTES_MAX, readLogo } from '../../src/dashboard/logo.ts';
import type { PageSettings, PageSettingsChange } from '../../src/database/page-settings.ts';
import { readAccent } from '../../src/lib/accent.ts';
import { isMailAddress } from '../../src/lib/mail-server.ts';
import { type Command, type Input, reasonOption, storeOf, storeOption, textOption, usage } from './command.ts';
import { nameOption } from './store-settings.ts';
import { table } from './table.ts';

const ORIGINS_MAX = 20;
/** Removes a setting. */
const NONE = 'none';

export const storePage: Command = {
  name: 'store page',
  args: [],
  summary: 'Show or change a store’s name, logo and colour on the payment page, and the sites that may frame it.',
  options: {
    store: storeOption,
    name: { value: 'NAME', help: 'the shop’s name as payers see it' },
    accent: {
      value: '#RRGGBB|none',
      help: 'colour of buttons and bars; adjusted until it is readable in light and dark mode',
    },
    logo: { value: 'FILE|none', help: `a PNG or a plain SVG of at most ${LOGO_BYTES_MAX / 1024} KiB, which is copied` },
    origins: {
      value: 'LIST|none',
      help: 'comma-separated sites that may show the page in a frame, such as https://shop.example',
    },
    'receipts-to': {
      value: 'ADDRESS|none',
      help: 'payers can have their receipt by mail, whose answers go to this address (needs `mail` in the settings)',
    },
    reason: reasonOption,
  },
  async run(input, { database }) {
    const { id } = await storeOf(input, database);
    const name = textOption(input, 'name') === undefined ? undefined : nameOption(input, 'name');
    const change = readChange(input);
    if (name !== undefined) await database.renameStore(id, name);
    if (Object.keys(change).length > 0) await database.setPageSettings(id, change);
    const settings = await database.findPageSettings(id);
    const json = { store_id: id, name: (await database.findStore(id))?.name, ...shown(settings) };
    return { json, lines: table(Object.entries(json).map(([key, value]) => [key, text(value)])) };
  },
};

const text = (value: unknown): string =>
  Array.isArray(value) ? value.join(', ') || '-' : value === null ? '-' : String(value);

const shown = ({ accent, logo, embedOrigins, receiptsReplyTo }: PageSettings) => ({
  accent,
  logo: logo && `${logo.type} ${logo.hash.slice(0, 12)}`,
  origins: embedOrigins,
  receipts_to: receiptsReplyTo,
});

function readChange(input: Input): PageSettingsChange {
  const accent = textOption(input, 'accent');
  const logo = textOption(input, 'logo');
  const origins = textOption(input, 'origins');
  const receipts = textOption(input, 'receipts-to');
  if (receipts !== undefined && receipts !== NONE && !isMailAddress(receipts)) {
    throw usage(`--receipts-to is "${receipts}", expected a mail address, or none`);
  }
  return {
    ...(accent !== undefined && { accent: accent === NONE ? null : accentOf(accent) }),
    ...(logo !== undefined && { logo: logo === NONE ? null : readLogo(readFile(resolve(input.cwd, logo))) }),
    ...(receipts !== undefined && { receiptsReplyTo: receipts === NONE ? null : receipts }),
    ...(origins !== undefined && { embedOrigins: origins === NONE ? [] : originsOf(origins) }),
  };
}

function accentOf(text: string): string {
  const accent = readAccent(text);
  if (accent === null) throw usage(`--accent is "${text}", expected a colour such as #0b6e5f, or none`);
  return accent;
}

/** Accepts origins only as browsers write them: anything else would never match, or match too much. */
function originsOf(list: string): string[] {
  const origins = list.split(',').map((part) => part.trim());
  if (origins.length > ORIGINS_MAX)
    throw usage(`--origins names ${origins.length} sites, more than the ${ORIGINS_MAX} allowed`);
  for (const origin of origins) {
    const url = URL.canParse(origin) ? new URL(origin) : null;
    if (url?.origin === origin && /^https?:$/.test(url.protocol)) continue;
    const meant = url && /^https?:$/.test(url.protocol) ? `; did you mean ${url.origin}?` : '';
    throw usage(
      `--origins contains "${origin}", expected only scheme, host and port, such as https://shop.example${meant}`,
    );
  }
  return [...new Set(origins)];
}

function readFile(path: string): Uint8Array {
  try {
    return readFileSync(path);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw permanent('logo_unreadable', `the logo cannot be read: ${why}`);
  }
}
