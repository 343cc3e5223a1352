/**
 * Shows, rotates and retires versions of the secret key. Never prints a key.
 * @module
 */
import { resolve } from 'node:path';
import { type Pass, type RotationParts, retireSecretKey, rotateSecretKey } from '../../src/app/secret-key-rotation.ts';
import { Fault } from '../../src/core/fault.ts';
import type { SecretKeyUse } from '../../src/database/secret-keys.ts';
import { keyNames, openSecretKeys, secretKeyFile } from '../../src/lib/secret-key.ts';
import {
  type Command,
  type Input,
  type Installation,
  moment,
  type Option,
  operatorAct,
  reasonOption,
  textOption,
  usage,
} from './command.ts';
import { openProgressLine } from './progress.ts';
import { withSigner } from './signer-freeze.ts';
import { table } from './table.ts';

const toOption: Option = {
  value: 'FILE',
  help: 'write the key’s new file there, where QUAYSIDE_SECRET_KEY_FILE names one that Quayside does not change',
};

export const secretKeyStatus: Command = {
  name: 'secret-key status',
  args: [],
  summary: 'Show the versions of the secret key, what still needs each of them, and which the signer has.',
  options: {},
  notes: ['An id identifies a key and reveals nothing of it.'],
  async run(input, { config, database, clock }) {
    const keys = keyNames(openSecretKeys(secretKeyFile(config.dataDir, input.env)));
    const state = await database.secretKeyState();
    const use = await database.secretKeyUse();
    const signer = config.signer && (await signerKeys(config.signer.dir));
    const versions = await Promise.all(
      keys.map(async ({ version, id }) => {
        const links = version < state.current ? await database.secretKeyLinks(version, clock.nowMs()) : null;
        return {
          version,
          id,
          current: version === state.current,
          rows: Object.fromEntries(use.flatMap((one) => (one.version === version ? [[one.what, one.rows]] : []))),
          claim_links: links?.claims ?? null,
          page_links_until: links ? moment(links.pagesUntilMs) : null,
          signer_has_it: signer ? signer.some((one) => one.version === version && one.id === id) : null,
        };
      }),
    );
    const unopened = unopenedBy(
      keys.map(({ version }) => version),
      use,
    );
    const since = state.sinceMs === null ? null : moment(state.sinceMs);
    return {
      json: { current: state.current, since, finished: state.isFinished, versions, unopened },
      lines: [
        ...table([
          ['version', 'id', 'state', 'rows', 'claim links', 'signer'],
          ...versions.map((one) => [
            String(one.version),
            one.id,
            one.current ? 'current' : one.version > state.current ? 'to come' : 'old',
            String(Object.values(one.rows).reduce((sum, rows) => sum + rows, 0)),
            String(one.claim_links ?? '-'),
            one.signer_has_it === null ? '-' : one.signer_has_it ? 'has it' : 'lacks it',
          ]),
        ]),
        ...unopened.map(({ what, version, rows }) => unopenedText(what, version, rows)),
        ...(state.isFinished && keys.every(({ version }) => version <= state.current)
          ? []
          : ['A rotation is not finished: run `quayside secret-key rotate`.']),
      ],
      isBad: unopened.length > 0,
    };
  },
};

export const secretKeyRotate: Command = {
  name: 'secret-key rotate',
  args: [],
  summary: 'Make a new version of the secret key and seal everything with it, or continue a rotation.',
  options: { to: toOption, reason: reasonOption },
  notes: [
    'Quayside may run. A command that was interrupted is run again: it continues.',
    'Older versions stay in the key’s file until `quayside secret-key retire`. Make a backup afterwards.',
  ],
  async run(input, installation) {
    const rotation = await withParts(secretKeyRotate, input, installation, rotateSecretKey);
    if (rotation.kind === 'written') {
      const { version, written, file } = rotation;
      return {
        json: rotation,
        lines: [
          `wrote version ${version} with the older ones to ${written}`,
          `Put it in the place of ${file}, restart Quayside and the signer, then run \`quayside secret-key rotate\`.`,
        ],
      };
    }
    const { version, before, isContinued, pass } = rotation;
    const how = isContinued ? 'The rotation to it was continued.' : `Before, it was version ${before}.`;
    return {
      json: { kind: 'done', version, continued: isContinued, ...passShown(pass) },
      lines: [
        `Version ${version} of the secret key is current. ${how}`,
        ...passLines(pass),
        'Make a backup now. `quayside secret-key status` shows what still needs older versions.',
      ],
      isBad: pass.refused > 0,
    };
  },
};

export const secretKeyRetire: Command = {
  name: 'secret-key retire',
  args: ['version'],
  summary: 'Take an old version out of the secret key’s file, once nothing needs it.',
  options: {
    'end-links': { help: 'end the links that payers got with it; open refunds get new claim links' },
    to: toOption,
    reason: reasonOption,
  },
  notes: ['Copies of the database from before, such as those in data/backups/, need the old version: keep a backup.'],
  async run(input, installation) {
    const [text = ''] = input.args;
    if (!/^[1-9]\d{0,5}$/.test(text)) throw usage(`<version> is "${text}", expected a whole number such as 1`);
    const endsLinks = input.options['end-links'] === true;
    const retired = await withParts(secretKeyRetire, input, installation, (parts) =>
      retireSecretKey(parts, Number(text), endsLinks),
    );
    const { version, pass, replacedLinks, written } = retired;
    return {
      json: { version, ...passShown(pass), replaced_claim_links: replacedLinks, written },
      lines: [
        written === null
          ? `Version ${version} was taken out of ${secretKeyFile(installation.config.dataDir, input.env)}.`
          : `wrote the key without version ${version} to ${written}; put it in place, and restart Quayside and the signer`,
        ...passLines(pass),
        ...(replacedLinks > 0
          ? [`${replacedLinks} open refunds have new claim links: \`quayside refunds list --status pending\``]
          : []),
        'Copies of the database from before need the old version; encrypted backups carry their own key.',
      ],
    };
  },
};

/** Runs `work` with the parts of a rotation, and shows its progress on a terminal. */
async function withParts<T>(
  command: Command,
  input: Input,
  { config, database, clock }: Installation,
  work: (parts: RotationParts) => Promise<T>,
): Promise<T> {
  const progress = openProgressLine(process.stderr);
  const to = textOption(input, 'to');
  const { signer } = config;
  try {
    return await work({
      dataDir: config.dataDir,
      env: input.env,
      database,
      askSigner: signer && (() => withSigner(signer.dir, (one) => one.secretKeys())),
      isSignerOwn: signer !== null && signer.unlock.kind !== 'external',
      to: to === undefined ? null : resolve(input.cwd, to),
      act: operatorAct(command, input, clock),
      onProgress: (what, looked, resealed) => progress.show(`${what}: ${looked} rows looked at, ${resealed} sealed`),
    });
  } finally {
    progress.end();
  }
}

/** Returns what the signer has; null if it does not say. */
async function signerKeys(dir: string) {
  try {
    return await withSigner(dir, (one) => one.secretKeys());
  } catch (error) {
    if (error instanceof Fault) return null;
    throw error;
  }
}

/** Returns the values that no version of these opens. */
export const unopenedBy = (versions: readonly number[], use: readonly SecretKeyUse[]): SecretKeyUse[] =>
  use.filter(({ version }) => version === null || !versions.includes(version));

export const unopenedText = (what: string, version: number | null, rows: number): string =>
  version === null
    ? `${what}: ${rows} have no MAC, and are not used`
    : `${what}: ${rows} need version ${version} of the secret key, which is missing`;

const passShown = ({ looked, resealed, kept, refused }: Pass) => ({ looked, resealed, kept: kept.length, refused });

const passLines = ({ looked, resealed, kept, refused }: Pass): string[] => [
  `${resealed} of ${looked} rows were sealed with it.`,
  ...(kept.length > 0
    ? [`${kept.length} rows of open refunds keep an older version, because approvers approved them as they are.`]
    : []),
  ...(refused > 0
    ? [`${refused} rows were altered before, or no known version opens them: they are not used, and stay as they are.`]
    : []),
];
