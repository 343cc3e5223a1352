/** How the dashboard shows sentences of acts: in the person's language if it is translated, else in English. */
import { englishOf, type Sentence, textOf, type Value } from '../acts/act.ts';
import { filledProse, type Html, html } from '../lib/html.ts';
import { copyCode, data, grouped, time } from '../web/show.ts';
import type { TextKey, Words } from './texts.ts';

/** A sentence that is not translated, such as an operator's, is shown in English. */
const keyOf = (words: Words, english: string): TextKey | null => (words.knows(english) ? english : null);

/** Shows a sentence. */
export function sentence(words: Words, { english, values }: Sentence): Html {
  // A number stays one: it may choose the form of the text.
  const shown = Object.fromEntries(
    Object.entries(values).map(([name, value]) => [name, typeof value === 'number' ? value : shownValue(words, value)]),
  );
  const key = keyOf(words, english);
  if (key !== null) return words.html(key, shown);
  const text = filledProse(english, (name) => shown[name] ?? name);
  return words.code === 'en' ? text : html`<bdi lang="en">${text}</bdi>`;
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
        typeof value === 'number'
          ? value
          : typeof value === 'object' && 'english' in value
            ? sentenceText(words, value)
            : textOf(value),
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
