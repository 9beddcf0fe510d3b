import { expect, it } from 'vitest'
import { getOperation } from '../../../src/catalog-api/operations.ts'
import { getShedClass, shedClasses, Shedder } from '../../../src/limits/overload/load-shedder.ts'

function ratiosOf(controller: Shedder): number[] {
  return shedClasses.map((each) => controller.shedRatio(each))
}

function observe(controller: Shedder, delayMs: number, ticks: number): void {
  for (let tick = 0; tick < ticks; tick += 1) controller.observe(delayMs)
}

it('ignores a short delay', () => {
  const controller = new Shedder(100)
  observe(controller, 60_000, 2)
  expect(ratiosOf(controller)).toEqual([0, 0, 0])
  observe(controller, 0, 1)
  observe(controller, 150, 1)
  expect(ratiosOf(controller)).toEqual([0, 0, 0])
  observe(controller, 100, 1000)
  expect(ratiosOf(controller)).toEqual([0, 0, 0])
})

it('sheds one class after the other under a lasting delay, up to all of the last', () => {
  const controller = new Shedder(100)
  let before = ratiosOf(controller)
  for (let tick = 0; tick < 100; tick += 1) {
    controller.observe(101)
    const now = ratiosOf(controller)
    now.forEach((ratio, index) => {
      expect(ratio).toBeGreaterThanOrEqual(before[index] ?? 0)
      // While any request of a class is admitted, none of the next class is refused.
      if ((now[index - 1] ?? 1) < 1) expect(ratio).toBe(0)
    })
    before = now
  }
  expect(before).toEqual([1, 1, 1])
})

it('admits the class shed last first after the delay, and finally everything', () => {
  const controller = new Shedder(100)
  observe(controller, 101, 100)
  observe(controller, 100, 10)
  const [bulk, data, listing = 1] = ratiosOf(controller)
  expect([bulk, data]).toEqual([1, 1])
  expect(listing).toBeLessThan(1)
  observe(controller, 0, 300)
  expect(ratiosOf(controller)).toEqual([0, 0, 0])
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
  expect(getShedClass(getOperation(operation))).toBe(expected)
})
