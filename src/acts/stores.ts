/** Changes of a store's settings. */
import type { MerchantStore, StoreChanges } from '../database/stores.ts';
import {
  type Context,
  defineAct,
  englishOf,
  type Fact,
  type Field,
  isRefusal,
  type Refusal,
  refuse,
  say,
} from './act.ts';
import { creditObstacle, operatorSettings } from './operator-settings.ts';
import { logoHash, type StoreState, shownSetting, storeSettings } from './store-settings.ts';

const allSettings = [...storeSettings, ...operatorSettings];

export const unknownStore = (id: string) =>
  refuse('not_found', say('there is no store {id}; `quayside status` shows all', { id }));

/** The store of what is made. */
export const storeField = {
  label: say('Store'),
  help: 'the store; optional if there is only one',
  value: 'ID',
} as const satisfies Field;

/** Returns the store of the page, the one with this id, or the only one. */
export async function storeOf(
  { database, scope }: Context,
  given: string | undefined,
): Promise<MerchantStore | Refusal> {
  const id = scope?.storeId ?? given;
  if (id !== undefined) return (await database.stores.find(id)) ?? unknownStore(id);
  const [only, ...others] = await database.stores.list();
  if (!only) return refuse('not_found', say('there is no store yet; create one with `quayside store add <name>`'));
  return others.length === 0
    ? only
    : refuse('usage', say('there are several stores: name one (`quayside status` shows them)'));
}

export const setStore = defineAct({
  name: 'store set',
  summary: 'Change the settings of a store, or show them. Open sessions keep theirs, except for credit.',
  needs: 'store:manage',
  fields: {
    store: { label: say('Store'), help: 'its id, if there are several', isArgument: 'optional' },
    ...(Object.fromEntries(
      allSettings.map((one) => [one.name, { ...one, help: one.help ?? englishOf(one.label) }]),
    ) as Readonly<Record<string, Field>>),
  },
  async plan(context, input: Readonly<{ store: string | undefined }> & Readonly<Record<string, unknown>>) {
    const { scope, networks } = context;
    const store = await storeOf(context, input.store);
    if (isRefusal(store)) return store;
    const { id } = store;
    const before = await context.database.stores.values(id);
    const given = allSettings.filter(({ name }) => input[name] !== undefined);
    const others = given.find(({ isOperators }) => isOperators && scope !== null);
    if (others) return refuse('refused', say('“{setting}” is set by the operator.', { setting: others.label }));
    const after: StoreState = { ...before, ...Object.fromEntries(given.map(({ key, name }) => [key, input[name]])) };
    const obstacle = given.some(({ key }) => key === 'credit') ? creditObstacle(networks, after.credit) : null;
    if (obstacle) return obstacle;
    return { store, before, after, changed: given.filter(({ write }) => write(before) !== write(after)) };
  },
  asks({ changed }) {
    if (changed.length === 0) return 'nothing';
    return changed.some(({ needsFactor }) => needsFactor) ? 'second factor' : 'confirmation';
  },
  review({ store, before, after, changed }) {
    return {
      title: say('Save the settings of {store}?', { store: store.name }),
      target: store.id,
      facts: changed.map((one): Fact => {
        const values = { before: shownSetting(one, before), after: shownSetting(one, after) };
        return [one.label, say('{before} → {after}', values)];
      }),
      button: say('Save'),
    };
  },
  async run({ database, act }, { store, before, after, changed }) {
    const json = { before: stateJson(before), after: stateJson(after) };
    const facts = allSettings.map((one): Fact => [one.label, shownSetting(one, after)]);
    if (changed.length === 0) return { said: say('Nothing was changed.'), json, facts };
    const changes = Object.fromEntries(changed.map(({ key }) => [key, after[key]])) as StoreChanges;
    await database.stores.update(store.id, changes, act);
    return { said: say('The settings are saved.'), json };
  },
});

const stateJson = (state: StoreState) => settingsJson({ ...state, logo: logoHash(state.logo) });

/** Returns settings under their names in JSON: `late_policy`. */
export const settingsJson = (values: object): Readonly<Record<string, unknown>> =>
  Object.fromEntries(
    Object.entries(values).map(([key, value]) => [
      key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
      value,
    ]),
  );
