/** Which images are accepted as a store's logo. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { LOGO_BYTES_MAX, readLogo } from '../../src/dashboard/logo.ts';

const png = (width: number, height: number): Buffer => {
  const head = Buffer.from('89504e470d0a1a0a0000000d494844520000000000000000080600000000000000', 'hex');
  head.writeUInt32BE(width, 16);
  head.writeUInt32BE(height, 20);
  return head;
};
const svg = (inner: string, attributes = ''): Buffer =>
  Buffer.from(
    `<?xml version="1.0"?>\n<!-- made by hand -->\n<svg xmlns="http://www.w3.org/2000/svg"${attributes}>${inner}</svg>`,
  );

const refuses = (bytes: Uint8Array, why: RegExp) =>
  assert.throws(
    () => readLogo(bytes),
    (error: { code?: string; message: string }) => error.code === 'logo_invalid' && why.test(error.message),
  );

test('a PNG and a plain SVG are accepted unchanged', () => {
  assert.is(readLogo(png(320, 80)).type, 'png');
  const drawn = svg('<defs><linearGradient id="g"/></defs><path fill="url(#g)" d="M0 0"/><use href="#g"/>');
  const logo = readLogo(drawn);
  assert.equal([logo.type, Buffer.from(logo.bytes).equals(drawn)], ['svg', true]);
  assert.match(logo.hash, /^[0-9a-f]{64}$/);
  assert.is(readLogo(svg('<image href="data:image/png;base64,AAAA"/>')).type, 'svg');
});

test('a file that is not an image, or is too large, is refused', () => {
  for (const bytes of [
    Buffer.alloc(0),
    Buffer.from('GIF89a'),
    Buffer.from('<html><svg></svg>'),
    Buffer.from([0xff, 0xd8]),
  ]) {
    refuses(bytes, /neither a PNG nor an SVG/);
  }
  refuses(Buffer.concat([Buffer.from('<svg >'), Buffer.from([0xc3, 0x28])]), /neither/);
  refuses(png(4000, 10), /4000 × 10 pixels/);
  refuses(png(0, 10), /0 × 10/);
  refuses(png(10, 10).subarray(0, 20), /truncated/);
  refuses(Buffer.concat([png(10, 10), Buffer.alloc(LOGO_BYTES_MAX)]), /more than the 32768 allowed/);
});

test('an SVG that does more than draw is refused', () => {
  const cases: readonly (readonly [Buffer, RegExp])[] = [
    [svg('<script>alert(1)</script>'), /a script/],
    [svg('<svg:script/>'), /a script/],
    [svg('<a-b:script xmlns:a-b="http://www.w3.org/2000/svg">alert(1)</a-b:script>'), /a script/],
    [svg('<é:script xmlns:é="http://www.w3.org/2000/svg"/>'), /a script/],
    [svg('<a href="#"><set attributeName="href" to="java&#115;cript:alert(1)"/></a>'), /an escaped character/],
    [svg('<path fill="ur&#x6c;(https://x.example/a)"/>'), /an escaped character/],
    [svg('<style>path{fill:u\\72l(https://x.example/a)}</style>'), /an escaped character/],
    [svg('<g onclick="alert(1)"/>'), /an event handler/],
    [svg('', ' onload = "alert(1)"'), /an event handler/],
    [svg('<a href="javascript:alert(1)"/>'), /a script link/],
    [svg('<foreignObject><p/></foreignObject>'), /embedded content/],
    [svg('<image href="https://tracker.example/x.png"/>'), /an external link/],
    [svg("<use xlink:href='//tracker.example#a'/>"), /an external link/],
    [svg('<image href="data:text/html,x"/>'), /an external link/],
    [svg('<style>@import "https://x.example/a.css"</style>'), /an external style/],
    [svg('<path fill="url(https://x.example/a)"/>'), /an external style/],
    [Buffer.from('<?xml version="1.0"?><svg ><!DOCTYPE x [<!ENTITY a "b">]></svg>'), /a DOCTYPE/],
  ];
  for (const [bytes, why] of cases) refuses(bytes, why);
});

test.run();
