/**
 * What `doctor` checks of the secret key: whether a rotation is unfinished, whether its versions open every row, and
 * whether the signer has the current one.
 * @module
 */
import { Fault } from '../../src/core/fault.ts';
import { keyNames, openSecretKeys, secretKeyFile } from '../../src/lib/secret-key.ts';
import { type Finding, failure, ok, warning } from '../nodes/finding.ts';
import type { Installation } from './command.ts';
import { unopenedBy, unopenedText } from './secret-key.ts';
import { withSigner } from './signer-freeze.ts';

export async function secretKeyFindings(
  { config, database }: Installation,
  env: NodeJS.ProcessEnv,
): Promise<Finding[]> {
  const names = keyNames(openSecretKeys(secretKeyFile(config.dataDir, env)));
  const { current, isFinished } = await database.secretKeyState();
  const unopened = unopenedBy(
    names.map(({ version }) => version),
    await database.secretKeyUse(),
  );
  const rotate = '`quayside secret-key rotate` continues it';
  const found = [
    ...unopened.map(({ what, version, rows }) =>
      failure(
        'secret-key',
        unopenedText(what, version, rows),
        'find the key file with that version, or a backup from when it was in use; `quayside secret-key status`',
      ),
    ),
    ...(isFinished
      ? []
      : [warning('secret-key', `the rotation to version ${current} has not sealed every row yet`, rotate)]),
    ...names
      .filter(({ version }) => version > current)
      .map(({ version }) => warning('secret-key', `version ${version} is prepared, and not used yet`, rotate)),
  ];
  const signer = await signerFinding({ config }, names, current);
  const all = [...found, ...(signer ? [signer] : [])];
  return all.length > 0 ? all : [ok('secret-key', `version ${current} is current, and every row opens`)];
}

/** Says whether a signer that answers can check the MACs of new refunds. */
async function signerFinding(
  { config }: Pick<Installation, 'config'>,
  names: ReturnType<typeof keyNames>,
  current: number,
): Promise<Finding | null> {
  const id = names.find(({ version }) => version === current)?.id;
  if (!config.signer || id === undefined) return null;
  try {
    const known = await withSigner(config.signer.dir, (signer) => signer.secretKeys());
    if (known.some((one) => one.version === current && one.id === id)) return null;
  } catch (error) {
    // Whether it answers at all is a finding of its own.
    if (error instanceof Fault && error.code !== 'signer_refused_request') return null;
    if (!(error instanceof Fault)) throw error;
    return warning('secret-key', 'the signer is older than this program, and knows no versions of it', 'restart it');
  }
  return failure(
    'secret-key',
    `the signer does not have version ${current} (${id}), so refunds wait`,
    'give the signer the installation’s key file, and restart it',
  );
}
