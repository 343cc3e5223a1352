/**
 * Forms with files (RFC 7578), for browsers without scripts.
 * @module
 */

const PARTS_MAX = 50;
const END_OF_HEAD = '\r\n\r\n';

/** Returns the boundary that a Content-Type names; null if it is of no form with files. */
export function boundaryOf(header = ''): string | null {
  if (!/^multipart\/form-data\s*;/i.test(header)) return null;
  const [, quoted, plain] = /;\s*boundary=(?:"([^"]{1,70})"|([^\s;"]{1,70}))/i.exec(header) ?? [];
  return quoted ?? plain ?? null;
}

/** Returns the fields of a body: of text what was typed, of a file its bytes in base64. */
export function readParts(body: Buffer, boundary: string): Readonly<Record<string, string>> {
  const fields: [string, string][] = [];
  const delimiter = Buffer.from(`\r\n--${boundary}`);
  // The first delimiter begins the body.
  const whole = Buffer.concat([Buffer.from('\r\n'), body]);
  let at = whole.indexOf(delimiter);
  while (at >= 0 && fields.length < PARTS_MAX) {
    const next = whole.indexOf(delimiter, at + delimiter.length);
    if (next < 0) break;
    const part = whole.subarray(at + delimiter.length, next);
    at = next;
    const end = part.indexOf(END_OF_HEAD);
    if (end < 0) continue;
    const [, disposition = ''] =
      /^content-disposition:\s*form-data\s*(;.*)$/im.exec(part.subarray(0, end).toString()) ?? [];
    const [, name] = /;\s*name="([^"]*)"/i.exec(disposition) ?? [];
    if (name === undefined) continue;
    const content = part.subarray(end + END_OF_HEAD.length);
    fields.push([name, content.toString(/;\s*filename\*?=/i.test(disposition) ? 'base64' : 'utf8')]);
  }
  return Object.fromEntries(fields);
}
