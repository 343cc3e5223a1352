/**
 * HTML that is escaped by default.
 */

/** Text that is already HTML. */
export type Html = Readonly<{ html: string }>;

type Part = Html | string | number | null | readonly Part[];

const escapes: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

const escapeHtml = (text: string): string => text.replace(/[&<>"']/g, (character) => escapes[character] ?? character);

function render(part: Part): string {
  if (part === null) return '';
  if (typeof part === 'string' || typeof part === 'number') return escapeHtml(String(part));
  return 'html' in part ? part.html : part.map(render).join('');
}

/** Template tag: escapes interpolated text, inserts `Html` and lists of it as they are, and skips null. */
export function html(strings: TemplateStringsArray, ...parts: readonly Part[]): Html {
  return { html: strings.map((text, at) => text + (at < parts.length ? render(parts[at] ?? null) : '')).join('') };
}

/** Escapes plain text and turns `backticks` into code elements. */
export const prose = (text: string): Html => ({ html: escapeHtml(text).replace(/`([^`]+)`/g, '<code>$1</code>') });

/** Returns a text as `prose` does, with its `{name}` placeholders filled in. */
export const filledProse = (text: string, givenFor: (name: string) => Part): Html => ({
  html: prose(text).html.replace(/\{(\w+)\}/g, (_, name: string) => render(givenFor(name))),
});
