/**
 * The geth that the tests of this folder run: built from its published source by Go, once, into a cache outside the
 * checkout.
 */
import { execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';

export const GETH_VERSION = '1.16.9';
/** The oldest Go whose `go install` fetches by itself the Go that geth asks for. */
const GO_VERSION_MIN = '1.21';
const PROGRESS_MS = 10_000;
/** Without a way to the module proxy, Go waits for a long time. */
const BUILD_S_MAX = 8 * 60;

const cache = process.env.XDG_CACHE_HOME || join(homedir(), '.cache');
const folder = join(cache, 'quayside', `geth-${GETH_VERSION}`);
const binary = join(folder, 'geth');

/**
 * Returns the path of geth.
 * @throws Error if it has not been built yet
 */
export function gethBinary(): string {
  if (!existsSync(binary)) throw new Error(`there is no geth at ${binary}: \`npm run test:nodes\` builds it`);
  return binary;
}

/** Returns the reason why geth cannot be built here; null if it can. */
function whyNoGo(): string | null {
  try {
    const text = execFileSync('go', ['env', 'GOVERSION'], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
    const [major = 0, minor = 0] = text.replace('go', '').split('.').map(Number);
    const [, minorMin = 0] = GO_VERSION_MIN.split('.').map(Number);
    return major === 1 && minor < minorMin ? `${text.trim()} is older than Go ${GO_VERSION_MIN}` : null;
  } catch {
    return 'Go is not installed';
  }
}

/**
 * Builds geth unless it is there already: minutes, and some hundred megabytes from Go's module proxy the first time.
 * @param log takes lines about the progress
 * @returns the reason why there is no geth; null if there is one
 */
export async function buildGeth(log: (line: string) => void): Promise<string | null> {
  if (existsSync(binary)) return null;
  const whyNot = whyNoGo();
  if (whyNot) return whyNot;
  const unfinished = `${folder}.${process.pid}`;
  mkdirSync(unfinished, { recursive: true });
  log(`building geth ${GETH_VERSION} with Go into ${folder}, once: this takes minutes`);
  const startedAtMs = performance.now();
  const complaint = await runGo(unfinished, log);
  if (complaint === null) {
    mkdirSync(folder, { recursive: true });
    renameSync(join(unfinished, 'geth'), binary);
    log(`built geth in ${Math.round((performance.now() - startedAtMs) / 1000)} s`);
  }
  rmSync(unfinished, { recursive: true, force: true });
  return complaint;
}

/** Runs `go install` into a folder. @returns the end of its output if it failed, or null */
function runGo(into: string, log: (line: string) => void): Promise<string | null> {
  const env = { ...process.env, GOBIN: into, CGO_ENABLED: '0' };
  // With -v, Go writes a line for each package.
  const source = `github.com/ethereum/go-ethereum/cmd/geth@v${GETH_VERSION}`;
  const child = spawn('go', ['install', '-v', source], {
    env,
    timeout: BUILD_S_MAX * 1000,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let output = '';
  child.stderr.on('data', (chunk: Buffer) => {
    output += chunk;
  });
  const progress = setInterval(() => log(`… building geth: ${output.split('\n').length - 1} steps`), PROGRESS_MS);
  return new Promise((resolve) => {
    child.once('error', (error) => resolve(`Go could not be started: ${error.message}`));
    child.once('close', (code) => {
      clearInterval(progress);
      const end = code === null ? 'stopped, because it took too long' : output.trim().split('\n').slice(-3).join(' / ');
      resolve(code === 0 ? null : `Go could not build geth: ${end}`);
    });
  });
}
