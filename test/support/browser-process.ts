/**
 * One Chromium without a window, which any number of test files share: it comes inside an npm package, and is unpacked
 * to a folder that is renamed when it is whole, so that nobody ever runs half a file.
 */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { chromium } from 'playwright-core';
import { installationFolder } from '../../src/lib/installation.ts';

/** Takes a line about how far the unpacking is. */
type Report = (line: string) => void;

/**
 * The tests' machines run as root and in containers, where Chromium's own sandbox and shared memory are not to be had.
 */
const ARGUMENTS = ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'];
const PROGRESS_MS = 2_000;
/** About what Chromium weighs unpacked. */
const USUAL_MB = 190;

const temporary = join(installationFolder, '.tmp');
const manifest = createRequire(import.meta.url)
  .resolve('@sparticuz/chromium')
  .replace(/build\/.*/, 'package.json');
const { version } = JSON.parse(readFileSync(manifest, 'utf8')) as { version: string };
const home = join(temporary, `chromium-${version}`);

async function unpack(report: Report): Promise<void> {
  mkdirSync(temporary, { recursive: true });
  const folder = mkdtempSync(`${home}-unpacking-`);
  // The package unpacks to the temporary folder, and brings the libraries that a machine without a desktop lacks only
  // where it believes itself on such a machine; it looks when it is loaded.
  const { TMPDIR } = process.env;
  Object.assign(process.env, { TMPDIR: folder, AWS_LAMBDA_JS_RUNTIME: 'nodejs20.x' });
  const timer = setInterval(() => {
    const bytes = statSync(join(folder, 'chromium'), { throwIfNoEntry: false })?.size ?? 0;
    report(`unpacking Chromium ${version}, once: ${Math.round(bytes / 1e6)} of ${USUAL_MB} MB`);
  }, PROGRESS_MS);
  try {
    const { default: packaged } = await import('@sparticuz/chromium');
    await packaged.executablePath();
    const fonts = join(folder, 'fonts/fonts.conf');
    writeFileSync(fonts, readFileSync(fonts, 'utf8').replaceAll('/tmp/', `${home}/`));
    renameSync(folder, home);
  } catch (error) {
    rmSync(folder, { recursive: true, force: true });
    // Another process may have been faster.
    if (!existsSync(home)) throw error;
  } finally {
    clearInterval(timer);
    if (TMPDIR === undefined) delete process.env.TMPDIR;
    else process.env.TMPDIR = TMPDIR;
  }
}

/**
 * Starts Chromium; it ends with this process, at the latest. The first start unpacks it, which takes a while.
 * @returns where Playwright connects to it, and what ends it
 * @throws Error when it does not start
 */
export async function startBrowserProcess(report: Report) {
  if (!existsSync(home)) await unpack(report);
  const server = await chromium.launchServer({
    executablePath: join(home, 'chromium'),
    args: ARGUMENTS,
    env: {
      ...process.env,
      FONTCONFIG_PATH: join(home, 'fonts'),
      LD_LIBRARY_PATH: [join(home, 'al2023/lib'), process.env.LD_LIBRARY_PATH].filter(Boolean).join(':'),
    },
  });
  return { address: server.wsEndpoint(), stop: () => server.close() };
}
