/** Inputs of forms, as their fields describe them. Texts come from the page. */
import { type Html, html } from '../lib/html.ts';

export type Input = Readonly<{
  name: string;
  label: Html | string;
  /** Its value; of a list, with commas between what is chosen. */
  text: string;
  /** Values with their texts; null for a value that is data. */
  choices?: readonly (readonly [value: string, text: string | null])[] | undefined;
  /** Any of the choices, each as a box by the name of its value. */
  isList?: boolean | undefined;
  /** Values to choose from or to type another. */
  suggestions?: readonly string[] | undefined;
  hint?: Html | null;
  example?: string | undefined;
  charsMax?: number | undefined;
  isRequired?: boolean;
  /** Text of a language, such as a name. */
  isProse?: boolean | undefined;
  type?: 'text' | 'password' | undefined;
}>;

/** Renders an input below its label. */
export function inputOf(input: Input): Html {
  const { name, label, text, choices, isList, suggestions, hint = null, isRequired } = input;
  const below = hint && html`<p class="hint">${hint}</p>`;
  if (choices && isList) return html`${boxes(input, choices)}${below}`;
  if (choices) {
    const options = choices.map(([value, shown]) => {
      const chosen = value === text ? html` selected` : null;
      return html`<option value="${value}"${chosen}${shown === null ? html` translate="no"` : null}>${shown ?? value}</option>`;
    });
    return html`<label>${label} <select name="${name}">${options}</select></label>${below}`;
  }
  const listId = suggestions && `${name}-list`;
  const list =
    listId && html`<datalist id="${listId}">${suggestions.map((one) => html`<option value="${one}">`)}</datalist>`;
  const required = isRequired ? html` required` : null;
  return html`<label>${label} <input name="${name}"${attributesOf(input)}${listId ? html` list="${listId}"` : null}${required}></label>${list ?? null}${below}`;
}

function attributesOf({ type = 'text', text, charsMax, example, isProse }: Input): Html {
  const most = charsMax === undefined ? null : html` maxlength="${charsMax}"`;
  const shown = example === undefined ? null : html` placeholder="${example}"`;
  const language = isProse ? null : html` dir="ltr" spellcheck="false"`;
  // A secret is typed unseen, and never shown again.
  const value = type === 'password' ? html` type="password"` : html` value="${text}"`;
  return html`${value}${most}${shown}${language} autocomplete="off"`;
}

function boxes({ label, text }: Input, choices: NonNullable<Input['choices']>): Html {
  const chosen = text.split(',');
  return html`<fieldset><legend>${label}</legend>${choices.map(
    ([
      value,
      said,
    ]) => html`<label class="check"><input type="checkbox" name="${value}"${chosen.includes(value) ? html` checked` : null}>
<span><code>${value}</code>${said === null ? null : ` ${said}`}</span></label>`,
  )}</fieldset>`;
}
