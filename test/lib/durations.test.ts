import { expect, it } from 'vitest'
import { parseDuration } from '../../src/lib/time.ts'

it.each([
  ['30s', 30_000],
  ['30 secs', 30_000],
  ['1 second', 1_000],
  ['1.5s', 1_500],
  ['0.0005s', 1],
  ['500ms', 500],
  ['250 milliseconds', 250],
  ['2min', 120_000],
  ['1 minute', 60_000],
  ['1h', 3_600_000],
  ['2 hours', 7_200_000],
  ['1day', 86_400_000],
  ['1m30s', 90_000],
  ['1h 2m 3s 4ms', 3_723_004],
  [' 30s ', 30_000],
  ['PT0.5S', 500],
  ['PT1M30S', 90_000],
  ['P1DT1H', 90_000_000],
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
  'P',
  'PTS',
  'PT0S',
  'P1M',
  'PT1S1M',
  'PT1.5M',
  'T30S',
  'PT 30S',
  'Infinitys',
  '9999999999s',
  '0.00001ms',
  '1s 1s x',
  '\u0661s',
])('"%s" is no duration', (text) => {
  expect(parseDuration(text) >= 1).toBe(false)
})
