import { expect, it } from 'vitest'
import { parseForwardedForNodes, parseForwardedNodes } from '../../../src/lib/http/forwarded-nodes.ts'

const hidden = undefined

it.each<[string, (string | undefined)[]]>([
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
  expect(parseForwardedForNodes(value)).toEqual(nodes)
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
  expect(parseForwardedForNodes(value)).toBeUndefined()
})

it.each<[string, (string | undefined)[]]>([
  ['for=192.0.2.1', ['192.0.2.1']],
  ['For="192.0.2.1:8080"', ['192.0.2.1']],
  ['for="[2001:DB8::0001]:4711"', ['2001:db8::1']],
  ['for="[::ffff:192.0.2.1]"', ['192.0.2.1']],
  ['for=192.0.2.1;proto=http;by=203.0.113.43', ['192.0.2.1']],
  ['by=203.0.113.43; for=192.0.2.1 ; host="a,b;c=\\"d\\""', ['192.0.2.1']],
  ['for=192.0.2.1, for=198.51.100.2', ['192.0.2.1', '198.51.100.2']],
  [', for=192.0.2.1,,\tfor=198.51.100.2, ', ['192.0.2.1', '198.51.100.2']],
  ['', []],
  [',', []],
  ['for=unknown, for=_hidden, for="_hidden:_port", proto=https', [hidden, hidden, hidden, hidden]],
  ['for="\\1\\9\\2.0.2.1"', ['192.0.2.1']],
])('reads Forwarded: %j', (value, nodes) => {
  expect(parseForwardedNodes(value)).toEqual(nodes)
})

it.each([
  ';',
  'for=192.0.2.1,;',
  'for=192.0.2.1;',
  'for=192.0.2.1;;proto=http',
  'for=',
  'for=""',
  'for',
  'for =192.0.2.1',
  'for= 192.0.2.1',
  '192.0.2.1',
  'for=192.0.2.1;for=198.51.100.2',
  'for=192.0.2.1;FOR=198.51.100.2',
  'for=192.0.2.1;proto=http;proto=https',
  'for="192.0.2.1',
  'for=192.0.2.1"',
  'for="192.0.2.1"x',
  'for=192.0.2.1:8080',
  'for=[2001:db8::1]',
  'for="2001:db8::1"',
  'for="[2001:db8::1"',
  'for=localhost',
  'for=192.0.2.1 for=198.51.100.2',
  'for="192.0.2.1, for=198.51.100.2',
])('Forwarded is malformed: %j', (value) => {
  expect(parseForwardedNodes(value)).toBeUndefined()
})

it.each([
  ['spaces', parseForwardedForNodes, `192.0.2.1${' '.repeat(200_000)}x`],
  ['digits', parseForwardedForNodes, `${'1'.repeat(200_000)}x`],
  ['a quoted string without an end', parseForwardedNodes, `for="${'\\"'.repeat(100_000)}`],
  ['spaces between pairs', parseForwardedNodes, `for=192.0.2.1${' '.repeat(200_000)}x`],
  ['an obfuscated node', parseForwardedNodes, `for="_${'a'.repeat(200_000)}!"`],
])('reads %s in linear time', (_label, parse, value) => {
  const startedAt = performance.now()
  expect(parse(value)).toBeUndefined()
  // Quadratic time would be a minute.
  expect(performance.now() - startedAt).toBeLessThan(5_000)
})
