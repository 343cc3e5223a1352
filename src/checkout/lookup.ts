/**
 * Help for payers whose payment does not show up: they paste its transaction hash, the indexer of each network looks it
 * up, and the result is explained. A lookup never credits a payment; only blocks that were read do.
 */
import type { Family } from '../chains/chain.ts';
import { chains } from '../chains/index.ts';
import { LOOKUP_AGE_MS_MAX, type LookupResult } from '../core/lookup.ts';
import { type NetworkKey, nameOf } from '../core/transfer.ts';
import type { Lookup } from '../database/lookups.ts';
import type { Session } from '../database/session.ts';
import { type Html, html } from '../lib/html.ts';
import { type IconName, icon } from './icon.ts';
import { linkTo, networkTitle, type PageModel } from './model.ts';
import type { TextKey } from './texts.ts';

/** Enough for a link to an explorer, which is longer than a hash. */
export const PASTED_CHARS_MAX = 400;
/** An indexer that has not answered in this time is taken to be down. */
const ANSWER_MS_MAX = 20_000;

/** The most useful result for the payer first, if several networks have one. */
const byWeight: readonly Exclude<LookupResult, 'unknown'>[] = [
  'kept',
  'unread',
  'missed',
  'waiting',
  'wrong_token',
  'wrong_network',
  'failed',
  'other_order',
  'elsewhere',
];
const goodNews: readonly LookupResult[] = ['kept', 'unread', 'waiting'];

/**
 * Returns the transaction id in a text for each family that it fits; empty if there is none. The text is a hash, alone
 * or broken over lines, or a link to an explorer.
 */
export function readTransaction(pasted: string): ReadonlyMap<Family, string> {
  const text = pasted.slice(0, PASTED_CHARS_MAX);
  for (const word of [text, text.replace(/\s/g, '')].flatMap((whole) => whole.split(/[^0-9A-Za-z]+/))) {
    const ids = Object.values(chains).flatMap(({ family, transactionId }) => {
      const id = transactionId(word);
      return id === null ? [] : ([[family, id]] as const);
    });
    if (ids.length > 0) return new Map(ids);
  }
  return new Map();
}

/** Says whether an indexer may still answer, so that the page keeps waiting. */
export const isAwaited = ({ isOpen, askedAtMs }: Lookup, nowMs: number): boolean =>
  isOpen && nowMs < askedAtMs + LOOKUP_AGE_MS_MAX;

/** Says whether a lookup is unanswered for so long that the payer should know. */
export const isUnanswered = ({ finding, askedAtMs }: Lookup, nowMs: number): boolean =>
  finding === null && nowMs > askedAtMs + ANSWER_MS_MAX;

/** Renders the lookup form and its results. A session that is over shows it only for a lookup that was made. */
export function lookupPanel(model: PageModel): Html | null {
  const { session, state, words, choice } = model;
  const { say } = words;
  const pasted = choice.transaction;
  if (pasted === null && (state.kind === 'seen' || state.kind === 'paid')) return null;
  return html`<details class="look-up" id="look-up"${pasted === null ? null : html` open`}><summary>${say('rescue_title')}</summary>
<p>${say('rescue_text')}</p>
<form method="post" action="${session.id}/look-up${linkTo(model, { transaction: null })}">
<label for="transaction">${say('rescue_label')}</label>
<div class="ask"><input id="transaction" name="transaction" value="${pasted ?? ''}" maxlength="${PASTED_CHARS_MAX}" required dir="ltr" autocomplete="off" autocapitalize="off" spellcheck="false">
<button class="button" id="look-up-ask">${say('rescue_button')}</button></div>
</form>
<div id="look-up-answer">${pasted === null ? null : answer(model, pasted)}</div>
</details>`;
}

type Verdict = Readonly<{ name: IconName; tone: '' | 'attention'; texts: readonly string[] }>;

function answer(model: PageModel, pasted: string): Html | null {
  const verdict = verdictOf(model, pasted);
  if (!verdict) return null;
  const { name, tone, texts } = verdict;
  return html`<div class="notice ${tone}">${icon(name)} <div>${texts.map((text) => html`<p class="said">${text}</p>`)}</div></div>`;
}

function verdictOf(model: PageModel, pasted: string): Verdict | null {
  const { session, state, words, shop, choice } = model;
  const ids = readTransaction(pasted);
  if (ids.size === 0) return { name: 'alert', tone: 'attention', texts: [words.say('rescue_unreadable')] };
  if (choice.waitS !== null) {
    return { name: 'wait', tone: 'attention', texts: [words.say('rescue_too_often', { seconds: choice.waitS })] };
  }
  const named = model.lookups.filter(({ tx }) => [...ids.values()].includes(tx));
  for (const finding of byWeight) {
    const found = named.find((one) => one.finding === finding);
    if (!found) continue;
    const network = titleOf(model, found.network);
    const text = words.say(textOf(finding, session), { network, shop, currency: session.terms.accepts.join(' / ') });
    const next = finding === 'failed' && state.isPayable ? [words.say('rescue_send_again')] : [];
    const isGood = goodNews.includes(finding);
    const name = finding === 'kept' ? 'done' : isGood ? 'wait' : 'alert';
    return { name, tone: isGood ? '' : 'attention', texts: [text, ...next] };
  }
  return openVerdict(
    model,
    named.filter(({ network }) => network.startsWith(`${session.mode}:`)),
  );
}

/**
 * Returns the text for a result. Payments count on every network of the session's mode, so a "wrong network" is one of
 * the other mode: real money for a test order, or test money for a real one.
 */
function textOf(finding: Exclude<LookupResult, 'unknown'>, { mode }: Session): TextKey {
  if (finding !== 'wrong_network') return `rescue_${finding}`;
  return mode === 'live' ? 'rescue_play_money' : 'rescue_real_money';
}

/** Returns what to say while no indexer has found the transaction. */
function openVerdict(model: PageModel, named: readonly Lookup[]): Verdict | null {
  const { words, shop, nowMs } = model;
  const { say } = words;
  const isHopeless = (one: Lookup) => isUnanswered(one, nowMs) || !(model.networks.get(one.network)?.isUp ?? false);
  const unanswered = named.filter(({ finding }) => finding === null);
  const looking = unanswered.filter((one) => !isHopeless(one));
  const without = named.filter(({ finding }) => finding === 'unknown');
  const titles = (those: readonly Lookup[]) => those.map(({ network }) => titleOf(model, network)).join(', ');
  if (looking.length > 0)
    return { name: 'wait', tone: '', texts: [say('rescue_looking', { networks: titles(looking) })] };
  const silent = unanswered.filter(isHopeless);
  const texts = [
    ...(without.length > 0 ? [say('rescue_unknown', { networks: titles(without), shop })] : []),
    ...(silent.length > 0 ? [say('rescue_unasked', { networks: titles(silent) })] : []),
    ...(named.some((one) => isAwaited(one, nowMs)) ? [say('rescue_goes_on')] : []),
  ];
  return texts.length > 0 ? { name: 'alert', tone: 'attention', texts } : null;
}

const titleOf = (model: PageModel, networkKey: NetworkKey): string =>
  networkTitle(model, { networkKey, network: nameOf(networkKey) });
