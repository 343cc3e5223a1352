/**
 * Configurations made of an operator's file and variables, in a folder of their own.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as assert from 'uvu/assert';
import { type Config, loadConfig } from '../../src/config/config.ts';
import { namesOfAll } from '../../src/config/setting-names.ts';
import { PREFIX } from '../../src/config/variables.ts';
import { Fault } from '../../src/core/fault.ts';

/** @returns the functions; `close` removes the folder */
export function openConfigs() {
  const folder = mkdtempSync(join(tmpdir(), 'quayside-config-'));
  let files = 0;

  /** Loads a configuration made of the operator's file (an object, or the raw text) and variables. */
  function load(file: unknown, variables: Record<string, string> = {}): Config {
    const name = join(folder, `operator-${files++}.json`);
    writeFileSync(name, typeof file === 'string' ? file : JSON.stringify(file));
    return loadConfig({ env: { QUAYSIDE_CONFIG: name, ...variables }, cwd: folder });
  }

  /** Returns the lines of the message for a wrong configuration. */
  function problems(file: unknown, variables: Record<string, string> = {}): string[] {
    try {
      load(file, variables);
    } catch (error) {
      assert.instance(error, Fault);
      const { code, kind, message } = error as Fault;
      assert.equal({ code, kind }, { code: 'config_invalid', kind: 'permanent' });
      return message
        .split('\n')
        .slice(1)
        .map((line) => line.trim());
    }
    assert.unreachable('the configuration was accepted');
    return [];
  }

  return { folder, load, problems, close: () => rmSync(folder, { recursive: true, force: true }) };
}

/** Returns the path of every setting. */
export const settingPaths = (): readonly (readonly string[])[] => namesOfAll().map(({ path }) => path);

/** Returns the name of the variable that sets what is at this path. */
export const variableOf = (path: readonly string[]): string =>
  `${PREFIX}${path.join('__').replaceAll('-', '_').toUpperCase()}`;
