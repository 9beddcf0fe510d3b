import fc from 'fast-check'
import { expect, it } from 'vitest'
import { parseCondition } from '../../../src/policy/conditions/condition.ts'
import {
  timeFields,
  toLocalTime,
  validateTimeZone,
} from '../../../src/policy/conditions/condition-functions.ts'

const zones = [...Intl.supportedValuesOf('timeZone'), 'UTC', 'CET']
const times = fc.date({
  min: new Date('1900-01-01T00:00:00Z'),
  max: new Date('2100-01-01T00:00:00Z'),
  noInvalidDate: true,
})

/** What a calendar shows for each field that is a number, and what the field counts from. */
const numbers: Readonly<Record<string, readonly [keyof Intl.DateTimeFormatOptions, first?: number]>> = {
  getFullYear: ['year'],
  getMonth: ['month', 1],
  getDate: ['day'],
  getDayOfMonth: ['day', 1],
  getHours: ['hour'],
  getMinutes: ['minute'],
  getSeconds: ['second'],
}

/** Asks for one field at a time, as a reader would look it up in a calendar of the zone. */
function lookUp(name: string, time: Date, timeZone: string): number {
  const ask = (options: Intl.DateTimeFormatOptions) =>
    new Intl.DateTimeFormat('en-GB', { timeZone, hourCycle: 'h23', ...options }).format(time)
  const [unit, first = 0] = numbers[name] ?? []
  if (unit !== undefined) return Number(ask({ [unit]: 'numeric' })) - first
  expect(name).toBe('getDayOfWeek')
  return ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat'].indexOf(ask({ weekday: 'short' }))
}

it('a time in a zone has the fields that a calendar of the zone shows', () => {
  fc.assert(
    fc.property(times, fc.constantFrom(...zones), (time, zone) => {
      for (const name of timeFields) {
        const read = parseCondition(`now.${name}("${zone}")`)
        expect(`${name} ${String(read({ now: time }))}`).toBe(`${name} ${lookUp(name, time, zone)}`)
      }
    }),
  )
})

it('an offset is added to the time', () => {
  const time = new Date('2026-12-31T23:59:59.500Z')
  expect(toLocalTime(time, '+05:45').toISOString()).toBe('2027-01-01T05:44:59.500Z')
  expect(toLocalTime(time, '-00:30').toISOString()).toBe('2026-12-31T23:29:59.500Z')
  expect(toLocalTime(new Date('0001-01-01T00:00:00Z'), 'America/New_York').getUTCFullYear()).toBe(0)
})

it('every zone of the database is valid, and other texts are not', () => {
  expect(zones.filter((zone) => validateTimeZone(zone) !== undefined)).toEqual([])
  for (const text of ['', 'Mars/Olympus', '+2', '+24:00', '+02:60', 'UTC+2', '+0200', ' UTC'])
    expect(validateTimeZone(text)).toMatch(/^expected a time zone/)
})
