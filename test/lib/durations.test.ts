import { expect, it } from 'vitest'
import { parseDuration } from '../../src/lib/time.ts'

it.each([
  ['30s', 30_000],
  ['30 s', 30_000],
  ['1.5s', 1_500],
  ['0.0005s', 1],
  ['500ms', 500],
  ['2m', 120_000],
  ['1h', 3_600_000],
  ['1d', 86_400_000],
  ['1m30s', 90_000],
  ['1h 2m 3s 4ms', 3_723_004],
])('"%s" is %i ms', (text, expected) => {
  expect(parseDuration(text)).toBe(expected)
})

it.each([
  '',
  '30',
  '0s',
  '+1s',
  '1e3s',
  '.5s',
  '1.s',
  '30  s',
  '1 fortnight',
  '1m 30',
  '2 hours',
  'PT30S',
  'Infinitys',
  '9999999999s',
  '0.00001ms',
  '1s 1s x',
  '\u0661s',
])('"%s" is no duration', (text) => {
  expect(parseDuration(text) >= 1).toBe(false)
})
