import { expect, it } from 'vitest'
import { parseTimestamp, validateTimestamp } from '../../../src/lib/time.ts'

it.each<[string, number]>([
  ['1970-01-01T00:00:00Z', 0],
  ['2027-01-31T10:00:00Z', Date.UTC(2027, 0, 31, 10)],
  ['2027-01-31T10:00:00+01:00', Date.UTC(2027, 0, 31, 9)],
  ['2027-01-31T10:00:00-23:59', Date.UTC(2027, 1, 1, 9, 59)],
  ['2027-01-31T10:00:00-00:00', Date.UTC(2027, 0, 31, 10)],
  ['2027-01-31T10:00:00.5Z', Date.UTC(2027, 0, 31, 10, 0, 0, 500)],
  ['2027-01-31T10:00:00.123456789+02:00', Date.UTC(2027, 0, 31, 8, 0, 0, 123)],
  ['2028-02-29T00:00:00Z', Date.UTC(2028, 1, 29)],
  ['2000-02-29T23:59:59Z', Date.UTC(2000, 1, 29, 23, 59, 59)],
  ['0001-01-01T00:00:00Z', -62_135_596_800_000],
  ['0004-02-29T00:00:00Z', -62_035_891_200_000],
  ['9999-12-31T23:59:59.999Z', 253_402_300_799_999],
])('reads %s', (text, time) => {
  expect(validateTimestamp(text)).toBeUndefined()
  expect(parseTimestamp(text)).toBe(time)
})

it.each<[string, string]>([
  ['2027-01-01', 'it has no time and no zone; expected for example 2027-01-01T00:00:00Z'],
  [
    '2027-01-31T10:00:00',
    'it has no zone; expected for example 2027-01-31T10:00:00Z or 2027-01-31T10:00:00+01:00',
  ],
  ...['2027-02-30', '1900-02-29', '2027-04-00', '2026-13-01'].map((date): [string, string] => [
    `${date}T00:00:00Z`,
    `there is no time ${date}T00:00:00`,
  ]),
  ['2027-01-31T24:00:00Z', 'there is no time 2027-01-31T24:00:00'],
  ['2027-01-31T10:60:00Z', 'there is no time 2027-01-31T10:60:00'],
  ['2016-12-31T23:59:60Z', 'there is no time 2016-12-31T23:59:60'],
  ['0000-01-01T00:00:00Z', 'it is not within the years 0001 to 9999 in UTC'],
  ['9999-12-31T23:59:59-01:00', 'it is not within the years 0001 to 9999 in UTC'],
  ...[
    'soon',
    '',
    '2027-01-31T10:00:00Z\n',
    '2027-01-31 10:00:00Z',
    '2027-01-31t10:00:00z',
    '2027-01-31T10:00Z',
    '2027-01-31T10:00:00.Z',
    '2027-01-31T10:00:00.1234567890Z',
    '2027-01-31T10:00:00+0100',
    '2027-01-31T10:00:00 UTC',
    '+002027-01-31T10:00:00Z',
    'Sun, 31 Jan 2027 10:00:00 GMT',
    '２027-01-31T10:00:00Z',
    '2027-01-31T10:00:00+24:00',
    '2027-01-31T10:00:00+01:60',
  ].map((text): [string, string] => [
    text,
    'expected a time with zone (RFC 3339) such as 2027-01-31T10:00:00Z',
  ]),
])('refuses %j: %s', (text, reason) => {
  expect(validateTimestamp(text)).toBe(reason)
  expect(() => parseTimestamp(text)).toThrow(reason)
})
