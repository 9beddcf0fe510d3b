import fc from 'fast-check'
import { expect, it } from 'vitest'
import type { CreatedVersion } from '../../../src/audit/records/audit-record.ts'
import { TableHistory, type StartedChange } from '../../../src/audit/in-doubt/table-history.ts'

const id = ['sales', 'orders']

function started(
  history: TableHistory,
  request: string,
  operation: 'InsertIntoTable' | 'DropTable' = 'InsertIntoTable',
) {
  return history.begin({ request, operation, effect: 'commit', id, details: {} })
}

function made(version: number, branch?: string): CreatedVersion[] {
  return [{ id, version, ...(branch !== undefined && { branch }) }]
}

function passed(history: TableHistory, ...versions: number[]) {
  return versions.flatMap((version) => history.end(started(history, `r${version}`), made(version)))
}

it('a version with unseen predecessors shows that they were created elsewhere', () => {
  const history = new TableHistory()
  expect(passed(history, 7, 8, 9)).toEqual([])
  expect(passed(history, 12)).toEqual([{ id, from: 10, to: 11 }])
  expect(passed(history, 13)).toEqual([])
  expect(history.getNewestVersion(id, undefined)).toBe(13)
})

it('responses out of order are not a gap', () => {
  const history = new TableHistory()
  passed(history, 1)
  const [second, third] = [started(history, 'a'), started(history, 'b')]
  expect(history.end(third, made(3))).toEqual([])
  expect(history.end(second, made(2))).toEqual([])
})

it('a gap counts when every change that may fill it has ended, regardless of later ones', () => {
  const history = new TableHistory()
  passed(history, 1)
  const slow = started(history, 'slow')
  expect(passed(history, 3)).toEqual([])
  const later = started(history, 'later')
  expect(passed(history, 4)).toEqual([])
  expect(history.end(slow, 'nothing')).toEqual([{ id, from: 2, to: 2 }])
  expect(history.end(later, made(5))).toEqual([])
})

it('the history restarts after a change with an unknown version, or a drop', () => {
  for (const operation of ['InsertIntoTable', 'DropTable'] as const) {
    const history = new TableHistory()
    passed(history, 8, 9)
    history.end(started(history, 'x', operation), 'unclear')
    expect(history.getNewestVersion(id, undefined)).toBeUndefined()
    expect(passed(history, 1, 2)).toEqual([])
  }
})

it('a change that began before an unknown version does not restart the history', () => {
  const history = new TableHistory()
  passed(history, 1)
  const [second, third] = [started(history, 'second'), started(history, 'third, of which nobody knows')]
  history.end(third, 'unclear')
  expect(history.end(second, made(2))).toEqual([])
  expect(passed(history, 4, 5)).toEqual([])
  expect(passed(history, 7)).toEqual([{ id, from: 6, to: 6 }])
})

it('branches have separate versions', () => {
  const history = new TableHistory()
  passed(history, 1)
  const branch = {
    request: 'b',
    operation: 'InsertIntoTable',
    effect: 'commit',
    id,
    details: { branch: 'dev' },
  } as const
  expect(history.end(history.begin(branch), made(5, 'dev'))).toEqual([])
  expect(history.end(history.begin(branch), made(7, 'dev'))).toEqual([{ id, branch: 'dev', from: 6, to: 6 }])
  expect(passed(history, 2)).toEqual([])
})

it('returns the author of a version', () => {
  const history = new TableHistory()
  passed(history, 1, 2)
  expect(history.findCreator(id, undefined, 2)).toBe('r2')
  expect(history.findCreator(id, undefined, 3)).toBeUndefined()
})

/** Events of a table: changes begin and end in any order, and some versions are created elsewhere. */
const happenings = ['begin', 'make', 'answer', 'fail', 'elsewhere'] as const

const stepsOf = <Step extends string>(...steps: readonly Step[]) =>
  fc.array(fc.constantFrom(...steps), { maxLength: 60, size: 'max' })

/** Runs the events on a table, ends all open changes, and creates two more versions, which reveals all gaps. */
function play(
  history: TableHistory,
  steps: readonly ((typeof happenings)[number] | 'lose')[],
  numbers: Iterator<number>,
  before: number,
) {
  const pick = <Item>(items: Item[]): Item | undefined =>
    items.splice((numbers.next().value ?? 0) % Math.max(1, items.length), 1)[0]
  const [open, responses]: [StartedChange[], (readonly [StartedChange, number])[]] = [[], []]
  const [elsewhere, passing, flagged]: [number[], number[], number[]] = [[], [], []]
  let newest = before
  const end = (change: StartedChange, how: CreatedVersion[] | 'nothing' | 'unclear') => {
    for (const { from, to } of history.end(change, how)) {
      for (let version = from; version <= to; version += 1) flagged.push(version)
    }
  }
  const perform = (step: (typeof steps)[number]) => {
    const change = step === 'make' || step === 'fail' ? pick(open) : undefined
    const response = step === 'answer' || step === 'lose' ? pick(responses) : undefined
    if (step === 'begin') open.push(started(history, 'x'))
    if (step === 'elsewhere') elsewhere.push((newest += 1))
    if (step === 'make' && change) responses.push([change, (newest += 1)])
    if (step === 'fail' && change) end(change, 'nothing')
    if (response) passing.push(response[1])
    if (response) end(response[0], step === 'lose' ? 'unclear' : made(response[1]))
  }
  for (const step of steps) perform(step)
  while (open.length > 0) perform('fail')
  while (responses.length > 0) perform('answer')
  for (const version of [newest + 1, newest + 2]) end(started(history, 'last'), made(version))
  return { elsewhere, passing, flagged }
}

it('in any order, finally flags exactly the versions created elsewhere', () => {
  fc.assert(
    fc.property(stepsOf(...happenings), fc.infiniteStream(fc.nat()), (steps, numbers) => {
      const history = new TableHistory()
      passed(history, 1)
      const { elsewhere, flagged } = play(history, steps, numbers, 1)
      expect(flagged).toEqual(elsewhere)
    }),
    { numRuns: 200 },
  )
})

it('with any unknown changes, never flags a seen version', () => {
  fc.assert(
    fc.property(stepsOf(...happenings, 'lose'), fc.infiniteStream(fc.nat()), (steps, numbers) => {
      const { passing, flagged } = play(new TableHistory(), steps, numbers, 0)
      expect(flagged.filter((version) => passing.includes(version))).toEqual([])
    }),
    { numRuns: 500 },
  )
})
