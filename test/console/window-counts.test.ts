import { expect, it } from 'vitest'
import { getTop, WindowCounts } from '../../src/console/window-counts.ts'

const minuteMs = 60_000

function createCounts() {
  const clock = { now: 1_000 * minuteMs }
  return { clock, counts: new WindowCounts(minuteMs, 60, () => clock.now) }
}

const sum = (numbers: readonly number[]) => numbers.reduce((total, number) => total + number, 0)

it('counts each minute of the last hour, and forgets older ones', () => {
  const { clock, counts } = createCounts()
  counts.add('ada')
  clock.now += 59 * minuteMs
  counts.add('ada')
  counts.add('ada')
  expect(getTop(counts.list())).toEqual([{ name: 'ada', minutes: [1, ...Array<number>(58).fill(0), 2] }])
  clock.now += minuteMs
  expect(getTop(counts.list())).toEqual([{ name: 'ada', minutes: [...Array<number>(58).fill(0), 2, 0] }])
  clock.now += 60 * minuteMs
  expect(getTop(counts.list())).toEqual([])
})

it('names those with the most requests, and counts the others together', () => {
  const { clock, counts } = createCounts()
  for (let minute = 0; minute < 10; minute += 1) {
    for (let name = 0; name < 30; name += 1) for (let n = 0; n <= name; n += 1) counts.add(`user${name}`)
    clock.now += minuteMs
  }
  const top = getTop(counts.list())
  expect(top.map(({ name, minutes }) => [name, sum(minutes)])).toEqual([
    ['user29', 300],
    ['user28', 290],
    ['user27', 280],
    ['user26', 270],
    ['user25', 260],
    [undefined, 4_650 - 1_400],
  ])
})

it('names of any number do not displace each other within a minute, and no request is lost', () => {
  const { counts } = createCounts()
  for (let n = 0; n < 10; n += 1) counts.add('busy')
  for (let name = 0; name < 5_000; name += 1) counts.add(`once${name}`)
  counts.add('busy')
  const top = getTop(counts.list())
  expect(top[0]).toMatchObject({ name: 'busy' })
  expect(top.map(({ minutes }) => sum(minutes))).toEqual([11, 1, 1, 1, 1, 4_996])
})
