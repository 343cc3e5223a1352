/** `quayside user` on an installation: who is added, which link is printed, and what the audit log keeps of it. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { openToolBench } from '../support/tool-bench.ts';

const settings = { dashboard_url: 'https://quayside.shop.example' };
const { run, answer, store, close } = await openToolBench({ settings });
test.after(close);

test('a person gets a link of the configured address, a new one with another role, and is removed', async () => {
  const first = await answer('user', 'link', 'Ada');
  assert.match(first.link, /^https:\/\/quayside\.shop\.example\/link\/[\w-]{43}$/);
  const both = [
    { role: 'operator', store: null },
    { role: 'owner', store },
  ];
  assert.equal(first.roles, both, 'the first person has the only store');
  const second = await answer('user', 'link', 'ada', '--reason', 'lost phone');
  assert.is(second.id, first.id);
  assert.not.equal(second.link, first.link);
  const staff = await answer('user', 'link', 'Grace', '--role', 'staff');
  assert.equal(staff.roles, [{ role: 'staff', store }]);
  await answer('user', 'remove', 'Ada');
  assert.is((await run('user', 'remove', 'Ada')).code, 3);
  const entries: { command: string; target: string; reason: string | null }[] = await answer('audit', 'list');
  const own = entries.filter(({ target }) => target === first.id).map(({ command, reason }) => [command, reason]);
  assert.equal(own, [
    ['user remove', null],
    ['user link', 'lost phone'],
    ['user link', null],
    ['user link', null],
    ['user link', null],
  ]);
});

test('names and roles that are wrong are refused with what to do', async () => {
  for (const [words, code, says] of [
    [['user', 'link', '  '], 2, /A name has letters/],
    [['user', 'link', 'Eve', '--role', 'root'], 2, /Allowed choices are operator, owner/],
    [['user', 'remove', 'Nobody'], 3, /there is nobody called Nobody/],
  ] as const) {
    const { code: ended, err } = await run(...words);
    assert.is(ended, code, err);
    assert.match(err, says);
  }
});

test.run();
