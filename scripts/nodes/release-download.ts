/**
 * Fetches a client's release from its publisher, or from a mirror, and keeps it only if the publisher has signed it.
 * @module
 */
import { chmodSync, createReadStream, existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { Fault, permanent } from '../../src/core/fault.ts';
import type { Clock } from '../../src/lib/clock.ts';
import { decompress, formatOf } from './decompress.ts';
import { downloadFile } from './download.ts';
import type { ClientRecipe } from './recipe.ts';
import { verifySignature } from './signature.ts';
import { unpackTar } from './tar-unpack.ts';

const RELEASE_BYTES_MAX = 2 ** 31;
const SIGNATURE_BYTES_MAX = 64 * 1024;
const UNPACKED_BYTES_MAX = 2 ** 32;

export type ReleaseOptions = Readonly<{
  version: string;
  /** The URL of a folder that has the same files; null: the publisher. */
  mirror: string | null;
  arch: string;
  env: NodeJS.ProcessEnv;
  clock: Clock;
}>;

export type Release = Readonly<{ url: string; signature: string; fingerprint: string; member: string | null }>;

const archNames: Readonly<Record<string, string>> = { x64: 'x86_64', arm64: 'aarch64' };

/** Returns where a release is. @throws Fault permanent `no_download` */
export function releaseOf({ client, download, origin }: ClientRecipe, options: ReleaseOptions): Release {
  const { version, mirror, arch } = options;
  if (!download || !origin.fingerprint) {
    throw permanent('no_download', `no signed download of ${client} is known: get it by hand, from ${origin.where}`);
  }
  const name = archNames[arch];
  if (name === undefined) throw permanent('no_download', `${client} is not published for ${arch}`);
  const fill = (text: string): string => {
    const url = text.replaceAll('{version}', version).replaceAll('{arch}', name);
    return mirror === null ? url : `${mirror.replace(/\/+$/, '')}/${url.slice(url.lastIndexOf('/') + 1)}`;
  };
  const { fingerprint } = origin;
  return { url: fill(download.url), signature: fill(download.signature), fingerprint, member: download.member ?? null };
}

/**
 * Downloads a release beside `path`, verifies its signature and moves the program to `path`. An interrupted download
 * goes on with the next call.
 * @throws Fault what `downloadFile` and `verifySignature` throw; permanent `archive_lacks_program`
 */
export async function fetchRelease(release: Release, path: string, { env, clock }: ReleaseOptions): Promise<void> {
  const { url, signature, fingerprint, member } = release;
  mkdirSync(dirname(path), { recursive: true });
  const file = join(dirname(path), `${basename(new URL(url).pathname)}.download`);
  const proof = `${file}.sig`;
  await downloadFile({ url: signature, file: proof, bytesMax: SIGNATURE_BYTES_MAX, clock });
  if (!existsSync(file)) await downloadFile({ url, file, bytesMax: RELEASE_BYTES_MAX, clock });
  try {
    await verifySignature(file, proof, fingerprint, env);
    if (member !== null) await unpackMember(file, formatOf(new URL(url).pathname), member, path);
    else renameSync(file, path);
    chmodSync(path, 0o755);
    rmSync(file, { force: true });
  } catch (error) {
    // With the key or gpg, what is there can be verified; anything else is of no use.
    if (!(error instanceof Fault) || !['key_missing', 'gpg_missing'].includes(error.code))
      rmSync(file, { force: true });
    throw error;
  } finally {
    rmSync(proof, { force: true });
  }
}

async function unpackMember(file: string, format: ReturnType<typeof formatOf>, member: string, path: string) {
  const folder = mkdtempSync(join(dirname(path), '.release-'));
  let written = 0;
  try {
    await unpackTar(decompress(createReadStream(file), format), folder, 0, async (bytes) => {
      written += bytes;
      if (written > UNPACKED_BYTES_MAX)
        throw permanent('archive_hostile', `${file} unpacks into more than a release has`);
    });
    const own = join(folder, member);
    if (!existsSync(own))
      throw permanent('archive_lacks_program', `the release has no ${member}: its recipe is outdated`);
    renameSync(own, path);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
