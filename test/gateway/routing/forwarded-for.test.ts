import { expect, it } from 'vitest'
import { parseForwardedFor } from '../../../src/gateway/trusted-proxies.ts'

const hidden = 'unknown'

it.each<[string, string[]]>([
  ['192.0.2.1', ['192.0.2.1']],
  ['192.0.2.1, 198.51.100.2,203.0.113.3', ['192.0.2.1', '198.51.100.2', '203.0.113.3']],
  [' \t192.0.2.1\t,  198.51.100.2 ', ['192.0.2.1', '198.51.100.2']],
  ['192.0.2.1:8080', ['192.0.2.1']],
  ['2001:DB8::0001, [2001:db8::2], [2001:db8::3]:443', ['2001:db8::1', '2001:db8::2', '2001:db8::3']],
  ['::ffff:192.0.2.1, [::ffff:c000:202]:1', ['192.0.2.1', '192.0.2.2']],
  ['192.0.2.1, , 198.51.100.2,', ['192.0.2.1', '198.51.100.2']],
  [',192.0.2.1', ['192.0.2.1']],
  ['', []],
  [' ,\t,', []],
  ['unknown, UNKNOWN, _hidden', [hidden, hidden, hidden]],
])('reads X-Forwarded-For: %j', (value, nodes) => {
  expect(parseForwardedFor(value)).toEqual(nodes)
})

it.each([
  '192.0.2.1 192.0.2.2',
  '192.0.2.256',
  '192.0.2.01',
  '0x7f.0.0.1',
  '192.0.2.1:',
  '192.0.2.1:123456',
  '"192.0.2.1"',
  '[192.0.2.1]',
  '[2001:db8::1',
  '[2001:db8::1]443',
  'fe80::1%eth0',
  'localhost',
  'for=192.0.2.1',
  '192.0.2.1\u00a0',
  '192.0.2.0/24',
  '١٩٢.0.2.1',
])('X-Forwarded-For is malformed: %j', (value) => {
  expect(parseForwardedFor(value)).toBeUndefined()
})

it.each([
  ['spaces', `192.0.2.1${' '.repeat(200_000)}x`],
  ['digits', `${'1'.repeat(200_000)}x`],
  ['an obfuscated node', `_${'a'.repeat(200_000)}!`],
])('reads %s in linear time', (_label, value) => {
  const startedAt = performance.now()
  expect(parseForwardedFor(value)).toBeUndefined()
  // Quadratic time would be a minute.
  expect(performance.now() - startedAt).toBeLessThan(5_000)
})
