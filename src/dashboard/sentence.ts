/** How the dashboard shows sentences of acts: in the person's language if it is translated, else in English. */
import { englishOf, type Sentence, textOf, type Value } from '../acts/act.ts';
import { filledProse, type Html, html } from '../lib/html.ts';
import { copyCode, data, grouped, time } from './show.ts';
import type { TextKey, Words } from './texts.ts';

/** The texts of acts have their English as key; operators' have no translation. */
const keyOf = (words: Words, english: string): TextKey | null => {
  const key = `acts.${english}`;
  return words.knows(key) ? key : null;
};

/** Shows a sentence. */
export function sentence(words: Words, { english, values }: Sentence): Html {
  const shown = Object.fromEntries(Object.entries(values).map(([name, value]) => [name, shownValue(words, value)]));
  const key = keyOf(words, english);
  if (key !== null) return words.html(key, shown);
  return html`<bdi lang="en">${filledProse(english, (name) => shown[name] ?? name)}</bdi>`;
}

/** Returns a sentence for places that take no HTML, such as a title. */
export function sentenceText(words: Words, { english, values }: Sentence): string {
  const key = keyOf(words, english);
  if (key === null) return englishOf({ english, values });
  return words.say(
    key,
    Object.fromEntries(
      Object.entries(values).map(([name, value]) => [
        name,
        typeof value === 'object' && 'english' in value ? sentenceText(words, value) : textOf(value),
      ]),
    ),
  );
}

/** Shows a value of a fact. */
export function shownValue(words: Words, value: Value): Html {
  if (typeof value === 'number') return html`${value}`;
  if (typeof value === 'string') return data(value);
  if ('address' in value) return grouped(value.address);
  if ('code' in value) return copyCode(value.code);
  return 'english' in value ? sentence(words, value) : time(value.atMs);
}
