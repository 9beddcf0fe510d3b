import { expect, it } from 'vitest'
import { createShedController, type ShedController } from '../../../src/limits/overload/shed-controller.ts'
import { getShedClass, shedClasses } from '../../../src/limits/overload/shed-class.ts'

function capacitiesOf(pressure: ShedController): number[] {
  return shedClasses.map((each) => pressure.shedRatio(each))
}

function observe(pressure: ShedController, delayMs: number, ticks: number): void {
  for (let tick = 0; tick < ticks; tick += 1) pressure.observe(delayMs)
}

it('ignores a short delay', () => {
  const pressure = createShedController(100)
  observe(pressure, 60_000, 2)
  expect(capacitiesOf(pressure)).toEqual([0, 0, 0])
  observe(pressure, 0, 1)
  observe(pressure, 150, 1)
  expect(capacitiesOf(pressure)).toEqual([0, 0, 0])
  observe(pressure, 100, 1000)
  expect(capacitiesOf(pressure)).toEqual([0, 0, 0])
})

it('sheds one class after the other under a lasting delay, up to all of the last', () => {
  const pressure = createShedController(100)
  let before = capacitiesOf(pressure)
  for (let tick = 0; tick < 100; tick += 1) {
    pressure.observe(101)
    const now = capacitiesOf(pressure)
    now.forEach((capacity, index) => {
      expect(capacity).toBeGreaterThanOrEqual(before[index] ?? 0)
      // While any request of a class is admitted, none of the next class is refused.
      if ((now[index - 1] ?? 1) < 1) expect(capacity).toBe(0)
    })
    before = now
  }
  expect(before).toEqual([1, 1, 1])
})

it('admits the class shed last first after the delay, and finally everything', () => {
  const pressure = createShedController(100)
  observe(pressure, 101, 100)
  observe(pressure, 100, 10)
  const [bulk, data, listing = 1] = capacitiesOf(pressure)
  expect([bulk, data]).toEqual([1, 1])
  expect(listing).toBeLessThan(1)
  observe(pressure, 0, 300)
  expect(capacitiesOf(pressure)).toEqual([0, 0, 0])
})

it.each([
  ['InsertIntoTable', 'bulk'],
  ['CreateTable', 'bulk'],
  ['QueryTable', 'bulk'],
  ['CountTableRows', 'data'],
  ['UpdateTable', 'data'],
  ['ListTables', 'listing'],
  ['ListTableVersions', 'listing'],
  ['DescribeTable', undefined],
  ['TableExists', undefined],
  ['CreateTableVersion', undefined],
  ['BatchCommitTables', undefined],
  ['DropTable', undefined],
] as const)('%s is shed as %s', (operation, expected) => {
  expect(getShedClass(operation)).toBe(expected)
})
