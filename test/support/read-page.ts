/** Reads pages by their structure: texts, lists, facts, steps and forms. */

type Texts = Readonly<Record<string, string>>;

const plain = (text: string): string =>
  text
    .replaceAll(/&(lt|gt|quot|#39);/g, (_, name: string) => ({ lt: '<', gt: '>', quot: '"', '#39': "'" })[name] ?? '')
    .replaceAll('&amp;', '&');

/** Returns the text of a page, without its tags. */
export const textOf = (page: string): string =>
  page
    .replaceAll(/<[^>]+>/g, ' ')
    .replaceAll(/\s+/g, ' ')
    .trim();

/** Returns the heading of a page. */
export const titleOf = (page: string): string => plain(/<h1>([\s\S]*?)<\/h1>/.exec(page)?.[1] ?? '');

/** Returns what a page says was done; empty if it says nothing. */
export const noticeOf = (page: string): string => textOf(/role="status">([\s\S]*?)<\/p>/.exec(page)?.[1] ?? '');

/** Whether a page has a form that is sent there. */
export const hasForm = (page: string, action: string): boolean => page.includes(` action="${action}"`);

/** Whether a page that confirms asks for the second factor. */
export const asksFactor = (page: string): boolean => page.includes('<input name="code"');

/** Returns what a page says is wrong; empty if nothing is. */
export function alertOf(page: string): string {
  const [, said = ''] = /role="alert">([\s\S]*?)<\/p>/.exec(page) ?? [];
  return textOf(said.replaceAll(/<\/?bdi>/g, ''));
}

/** Returns the rows of the list with this caption: the text of each cell by the heading of its column. */
export function rowsOf(page: string, caption: string): readonly Texts[] {
  const table = page.split('<table>').find((one) => one.includes(`<caption class="unseen">${caption}</caption>`)) ?? '';
  const body = table.slice(table.indexOf('<tbody>'), table.indexOf('</table>'));
  const cells = (row: string) => [...row.matchAll(/<td data-label="([^"]*)"[^>]*>([\s\S]*?)<\/td>/g)];
  return body
    .split('<tr>')
    .slice(1)
    .map((row) => Object.fromEntries(cells(row).map(([, name = '', cell = '']) => [name, textOf(cell)])));
}

/** Returns the path of the next page of a list; undefined on the last one. */
export const nextOf = (page: string): string | undefined => {
  const [, path] = /<a href="([^"]*)" rel="next"/.exec(page) ?? [];
  return path && plain(path);
};

/** Returns the facts and figures of a page by their names. */
export const factsOf = (page: string): Texts =>
  Object.fromEntries(
    [...page.matchAll(/<dt>([\s\S]*?)<\/dt><dd>([\s\S]*?)<\/dd>/g)].map(([, name = '', value = '']) => [
      textOf(name),
      textOf(value),
    ]),
  );

/** Returns the lines of what needs somebody, and of what is to do. */
export const stepsOf = (page: string): readonly string[] =>
  [...page.matchAll(/<ul class="steps">([\s\S]*?)<\/ul>/g)].flatMap(([, list = '']) =>
    list.split('<li>').slice(1).map(textOf),
  );

/** Returns what the form that is sent there holds, as a browser would send it unchanged. */
export function fieldsOf(page: string, action: string): Texts {
  const [, , form = ''] =
    [...page.matchAll(/<form method="post"[^>]* action="([^"]*)"[^>]*>([\s\S]*?)<\/form>/g)].find(
      ([, to]) => to === action,
    ) ?? [];
  const inputs = [...form.matchAll(/<input(?: type="hidden")? name="([^"]*)" value="([^"]*)"/g)];
  const boxes = [...form.matchAll(/<input type="checkbox" name="([^"]*)" checked/g)].map(([, name]) => [
    '',
    name,
    'on',
  ]);
  const selects = [...form.matchAll(/<select name="([^"]*)">[\s\S]*?<\/select>/g)].map(([select, name]) => [
    ...['', name, /value="([^"]*)" selected/.exec(select)?.[1] ?? ''],
  ]);
  return Object.fromEntries([...inputs, ...boxes, ...selects].map(([, name = '', value = '']) => [name, plain(value)]));
}
