/** Whether a store may work: what the operator decides about it. */
import { CHANNEL_TYPE, type MerchantStore, type StoreDecision, storeDecisions } from '../database/stores.ts';
import { defineAct, type Fact, oneOf, refuse, say, textOf } from './act.ts';
import { settingsJson, unknownStore } from './stores.ts';

/** The effect of a decision. */
type Meaning = Readonly<{
  fits(store: MerchantStore): boolean;
  needsReason: boolean;
  needsFactor: boolean;
  title: string;
  text: string;
  said: string;
  button: string;
}>;

export const meanings: Readonly<Record<StoreDecision, Meaning>> = {
  approve: {
    fits: ({ status, suspension }) => status === 'pending' || suspension !== undefined,
    needsReason: false,
    needsFactor: true,
    title: 'Approve {store}?',
    text: 'Its owner can make keys and take payments, which come to the wallets of this installation. Refunds that waited go on.',
    said: 'The store is approved.',
    button: 'Approve',
  },
  suspend: {
    fits: ({ suspension }) => suspension === undefined,
    needsReason: true,
    needsFactor: false,
    title: 'Suspend {store}?',
    text: 'It gets no keys. Its keys create no payments and no refunds, and refunds that are not signed yet wait. Its payments are still watched and credited, its webhooks sent. Its owner sees the reason. It can be approved later.',
    said: 'The store is suspended.',
    button: 'Suspend',
  },
};

const readDecision = oneOf(storeDecisions);

export const decideStore = defineAct({
  name: 'store decide',
  summary: 'Approve a store that a merchant has created or that is suspended, or suspend one.',
  needs: 'installation:manage',
  fields: {
    store: { label: say('Store'), help: 'its id', isArgument: true },
    decision: {
      label: say('Decision'),
      help: storeDecisions.join(', '),
      isArgument: true,
      read: readDecision,
    },
  },
  async plan({ database, act }, { store: id, decision }) {
    const store = await database.stores.find(id);
    if (!store) return unknownStore(id);
    const { fits, needsReason } = meanings[decision];
    if (!fits(store)) {
      const values = { store: store.name, decision, state: stateOf(store) };
      return refuse('refused', say('{store} is {state}: it is too late to {decision} it.', values));
    }
    if (needsReason && act.reason === null) return refuse('usage', say('Say why: its owner sees the reason.'));
    return { store, decision, reason: act.reason };
  },
  asks: ({ decision }) => (meanings[decision].needsFactor ? 'second factor' : 'confirmation'),
  review({ store, decision, reason }) {
    const { title, text, button } = meanings[decision];
    const why: Fact[] = reason === null ? [] : [[say('Reason'), reason]];
    return {
      title: say(title, { store: store.name }),
      target: store.id,
      facts: [[say('Merchant id'), store.id], ...why],
      notes: [say(text)],
      button: say(button),
    };
  },
  async run({ database, act }, { store, decision }) {
    const decided = await database.stores.decide(store.id, decision, act);
    return { said: say(meanings[decision].said), json: { decision, status: decided && stateOf(decided) } };
  },
});

/** Returns whether a store works, in one word. */
export const stateOf = ({ suspension, status }: MerchantStore): string => (suspension ? 'suspended' : status);

/** Returns a store for programs. */
export const storeJson = (store: MerchantStore) => ({
  id: store.id,
  name: store.name,
  status: stateOf(store),
  channel_type: CHANNEL_TYPE,
  ...(store.suspension && {
    suspended_at: textOf({ atMs: store.suspension.atMs }),
    suspended_because: store.suspension.because,
  }),
  ...settingsJson(store.settings),
  created_at: textOf({ atMs: store.createdAtMs }),
});
