/**
 * Addresses of networks where none can be derived from a public key: derived and signed on a machine that has the
 * seed, carried over as a file, imported here. The seed is never an argument or an environment variable, because other
 * users and the shell history could see it.
 */
import { accessSync, constants, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import * as z from 'zod';
import {
  type AddressList,
  importAddressList,
  LIST_ADDRESSES_MAX,
  makeAddressList,
  offlineKeysOf,
  verifyAddressList,
} from '../../src/addresses/address-list.ts';
import type { Family } from '../../src/chains/chain.ts';
import { chains } from '../../src/chains/index.ts';
import { readLayers } from '../../src/config/layers.ts';
import { permanent } from '../../src/core/fault.ts';
import {
  type Command,
  type Input,
  notFound,
  type OfflineCommand,
  recordAnswer,
  textOption,
  usage,
  wholeOption,
} from './command.ts';
import { attempt } from './output.ts';
import { askMnemonic, withSecret, withTerminal } from './terminal.ts';

const INDEX_MAX = 2 ** 31 - 2;

export const addressPoolDerive: OfflineCommand = {
  name: 'address-pool derive',
  summary: 'Derive a signed list of addresses from a seed phrase.',
  options: {
    network: { value: 'PRESET', help: 'a preset in config/networks that the addresses are for', isRequired: true },
    from: { value: 'N', help: 'the index of the first address (0); `quayside status` shows where the pool ends' },
    to: { value: 'N', help: `the index of the last address (999 more), at most ${LIST_ADDRESSES_MAX} addresses` },
    output: { value: 'FILE', help: 'where to write the list; an existing file is never overwritten', isRequired: true },
  },
  async runOffline(input) {
    const pool = readPool(input);
    const from = wholeOption(input, 'from', 0, INDEX_MAX, 0);
    const count = wholeOption(input, 'to', from, from + LIST_ADDRESSES_MAX - 1, from + 999) - from + 1;
    const out = textOption(input, 'output') ?? '';
    const file = resolve(input.cwd, out);
    if (existsSync(file)) throw permanent('refused', `${out} exists already; name another file`);
    // Check before somebody types the phrase.
    attempt(`${out} cannot be written`, () => accessSync(dirname(file), constants.W_OK));
    const { path } = await offlineKeysOf(pool.family);
    const list = await withTerminal((terminal) =>
      withSecret(askMnemonic(terminal), (seed) => makeAddressList(pool, seed, from, count)),
    );
    const text = `${JSON.stringify(list, null, 1)}\n`;
    attempt(`${out} cannot be written`, () => writeFileSync(file, text, { flag: 'wx' }));
    const [first = ''] = list.addresses;
    return recordAnswer({ ...pool, from, count, path, first, signer: list.signer, file: out }, [
      `Compare the first address with account ${from} of your wallet.`,
      `Next, on the server, run: quayside address-pool import ${out}`,
    ]);
  },
};

export const addressPoolImport: Command = {
  name: 'address-pool import',
  args: '<file>',
  summary: 'Verify a list that `address-pool derive` wrote, and add its addresses.',
  async run(input, { database, config }) {
    const [file = ''] = input.args;
    const list = await verifyAddressList(readText(file, input.cwd));
    const { family, mode } = list;
    const isFirst = (await database.addresses.source({ family, mode })) === null;
    const added = await importAddressList({ addresses: database.addresses, config }, list);
    await database.audit.record(input.act, { target: `${mode} ${family}`, before: null, after: { added } });
    const { free, nextIndex } = await database.addresses.level({ family, mode }, list.signer);
    return recordAnswer(
      { family, mode, added, free, next_index: nextIndex, signer: list.signer },
      isFirst ? [`from now on, this pool accepts only lists signed by ${list.signer}`] : [],
    );
  },
};

/** Returns the pool of the preset that `--network` names. @throws Fault permanent `usage` */
function readPool(input: Input): Pick<AddressList, 'mode'> & { family: Family } {
  const name = textOption(input, 'network') ?? '';
  const { presets, preset } = readLayers(input.env, input.cwd);
  if (!presets.includes(name)) throw usage(`--network is "${name}", expected one of ${presets.join(', ')}`);
  const families = Object.keys(chains) as [Family, ...Family[]];
  return z.object({ family: z.enum(families), mode: z.enum(['live', 'test']) }).parse(preset(name));
}

/** @throws Fault permanent `not_found`, `file_unusable` */
function readText(name: string, cwd: string): string {
  const file = resolve(cwd, name);
  if (!existsSync(file)) throw notFound(`there is no file ${name}`);
  return attempt(`${name} cannot be read`, () => readFileSync(file, 'utf8'));
}
