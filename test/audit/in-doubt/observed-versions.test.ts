import fc from 'fast-check'
import { expect, it } from 'vitest'
import type { CreatedVersion } from '../../../src/audit/records/audit-record.ts'
import {
  TableHistory,
  type StartedChange,
  type ChangeEffect,
} from '../../../src/audit/in-doubt/table-history.ts'
import { isThorough } from '../../support/thorough.ts'

const id = ['sales', 'orders']

function begin(history: TableHistory, operation: 'CreateTableIndex' | 'RegisterTable' = 'CreateTableIndex') {
  return history.begin({
    request: 'r',
    operation,
    effect: 'commit',
    id,
    before: history.getNewestVersion(id, undefined),
    details: {},
  })
}

const stated = (version: number): CreatedVersion[] => [{ id, version }]
const observed = (version: number): CreatedVersion[] => [{ id, version, observed: true }]

function pass(history: TableHistory, ...ends: readonly ChangeEffect[]) {
  return ends.flatMap((end) => history.end(begin(history), end))
}

function knownFrom4(): TableHistory {
  const history = new TableHistory()
  pass(history, stated(4))
  return history
}

it('an observed version right after the known one is no gap, and advances it', () => {
  const history = knownFrom4()
  expect(pass(history, observed(5), observed(6), stated(7))).toEqual([])
  expect(history.getNewestVersion(id, undefined)).toBe(7)
  expect(pass(history, stated(9))).toEqual([{ id, from: 8, to: 8 }])
})

it('an observed version with a gap before it reveals a version created elsewhere', () => {
  expect(pass(knownFrom4(), observed(6))).toEqual([{ id, from: 5, to: 5 }])
})

it('the history of a table may begin with an observed version', () => {
  expect(pass(new TableHistory(), observed(6), stated(8))).toEqual([{ id, from: 7, to: 7 }])
})

it('an observed version that a later response states was created by an earlier change', () => {
  const history = knownFrom4()
  const [index, insert] = [begin(history), begin(history)]
  expect(history.end(index, observed(6))).toEqual([])
  expect(history.getNewestVersion(id, undefined)).toBe(6)
  expect(history.end(insert, stated(6))).toEqual([])
  expect(pass(history, stated(8))).toEqual([{ id, from: 7, to: 7 }])
})

it('two changes that observe the same version created that one and the previous one', () => {
  const history = knownFrom4()
  const [one, other] = [begin(history), begin(history)]
  expect(history.end(one, observed(6))).toEqual([])
  expect(history.end(other, observed(6))).toEqual([])
  expect(pass(history, stated(7))).toEqual([])
})

it('an open change may move an observed one into a gap that no open change can fill', () => {
  const history = knownFrom4()
  const index = begin(history)
  expect(pass(history, stated(6))).toEqual([])
  const insert = begin(history)
  // The index is version 5; the insert is version 7, which is observed before its response has arrived.
  expect(history.end(index, observed(7))).toEqual([])
  expect(history.end(insert, stated(7))).toEqual([])
})

it('an observed version that is already known means that the new one is not created yet', () => {
  const history = knownFrom4()
  expect(pass(history, observed(4))).toEqual([])
  expect(history.getNewestVersion(id, undefined)).toBeUndefined()
  expect(pass(history, stated(7))).toEqual([])
})

it('an observed version that is already known does not fill a gap', () => {
  const history = knownFrom4()
  const slow = begin(history)
  pass(history, stated(6))
  expect(pass(history, observed(6))).toEqual([])
  expect(history.end(slow, 'nothing')).toEqual([])
  expect(history.getNewestVersion(id, undefined)).toBeUndefined()
})

it('an observed version of another change leaves the versions unknown', () => {
  const history = knownFrom4()
  const [index, insert] = [begin(history), begin(history)]
  history.end(index, observed(5))
  expect(history.end(insert, stated(5))).toEqual([])
  expect(history.getNewestVersion(id, undefined)).toBeUndefined()
})

it('a change from before the first known version need not have created a later one', () => {
  const history = new TableHistory()
  const [early, first] = [begin(history), begin(history)]
  history.end(first, stated(6))
  expect(history.end(early, observed(6))).toEqual([])
  expect(history.getNewestVersion(id, undefined)).toBe(6)
})

it('an observed change is not the known author of its version', () => {
  const history = knownFrom4()
  pass(history, observed(5))
  expect(history.findCreator(id, undefined, 5)).toBeUndefined()
})

it('after a registration, the versions are those of the registered dataset', () => {
  const history = knownFrom4()
  expect(history.end(begin(history, 'RegisterTable'), observed(2))).toEqual([])
  expect(pass(history, stated(4))).toEqual([{ id, from: 3, to: 3 }])
})

it('a change open during a registration may belong to either dataset', () => {
  const history = knownFrom4()
  const insert = begin(history)
  history.end(begin(history, 'RegisterTable'), observed(2))
  expect(history.end(insert, stated(5))).toEqual([])
  expect(history.getNewestVersion(id, undefined)).toBeUndefined()
})

/** Events of a table. Changes whose responses state no version are observed before they end. */
type Step = 'begin' | 'make' | 'observe' | 'end' | 'fail' | 'elsewhere'

interface Change {
  readonly started: StartedChange
  readonly isStated: boolean
  /** The created version, or the newest one observed afterwards. */
  version: number
}

/** Simulates a catalog that creates versions in order, and a history that receives its responses. */
function play(steps: readonly (Step | 'make none' | 'lose')[], numbers: Iterator<number>) {
  const history = new TableHistory()
  pass(history, stated(1))
  let newest = 1
  const [open, made, responded]: [Change[], Change[], Change[]] = [[], [], []]
  const ended: Change[] = []
  const elsewhere: number[] = []
  const flagged: number[] = []
  const number = () => numbers.next().value ?? 0
  const pick = (from: Change[]): Change | undefined => from.splice(number() % Math.max(1, from.length), 1)[0]
  const end = ({ started }: Change, how: ChangeEffect): void => {
    for (const { from, to } of history.end(started, how))
      for (let version = from; version <= to; version += 1) flagged.push(version)
    // The number of flagged versions must never exceed those created elsewhere.
    expect(flagged.length).toBeLessThanOrEqual(elsewhere.length)
  }
  const perform: Record<Step | 'make none' | 'lose', () => void> = {
    begin: () => open.push({ started: begin(history), isStated: number() % 2 === 0, version: 0 }),
    elsewhere: () => elsewhere.push((newest += 1)),
    make() {
      const change = pick(open)
      if (change === undefined) return
      change.version = newest += 1
      ;(change.isStated ? responded : made).push(change)
    },
    'make none'() {
      const change = pick(open)
      if (change?.isStated === true) end(change, 'nothing')
      else if (change !== undefined) made.push(change)
    },
    observe() {
      const change = pick(made)
      if (change === undefined) return
      change.version = newest
      responded.push(change)
    },
    end() {
      const change = pick(responded)
      if (change === undefined) return
      ended.push(change)
      end(change, change.isStated ? stated(change.version) : observed(change.version))
    },
    fail() {
      const change = pick(open)
      if (change !== undefined) end(change, 'nothing')
    },
    lose() {
      const change = pick(responded)
      if (change !== undefined) end(change, 'unclear')
    },
  }
  for (const step of steps) perform[step]()
  while (open.length > 0) perform.fail()
  while (made.length > 0) perform.observe()
  while (responded.length > 0) perform.end()
  const last = { started: begin(history), isStated: true, version: (newest += 1) }
  ended.push(last)
  end(last, stated(last.version))
  return { newest, ended, elsewhere, flagged }
}

/**
 * Versions that a reader of all outcomes would flag: those that no response states, except the highest possible one for
 * each observed change.
 */
function leftOver({ newest, ended }: ReturnType<typeof play>): number[] {
  const left = new Set(Array.from({ length: newest - 1 }, (_, index) => index + 2))
  for (const { isStated, version } of ended) if (isStated) left.delete(version)
  for (const { isStated, version } of ended)
    if (!isStated) left.delete(Math.max(...[...left].filter((each) => each <= version)))
  return [...left].toSorted((one, other) => one - other)
}

const stepsOf = <Name extends string>(...names: readonly Name[]) =>
  fc.array(fc.constantFrom(...names), { maxLength: 80, size: 'max' })

const usual = ['begin', 'make', 'observe', 'end', 'fail', 'elsewhere'] as const

it('in any order, flags as many versions as were created elsewhere, and no known one', () => {
  fc.assert(
    fc.property(stepsOf(...usual), fc.infiniteStream(fc.nat()), (steps, numbers) => {
      const played = play(steps, numbers)
      expect(played.flagged).toHaveLength(played.elsewhere.length)
      expect(played.flagged).toEqual(leftOver(played))
    }),
    { numRuns: isThorough ? 3_000 : 300 },
  )
})

it('with any unknown changes, never flags a version that a response states', () => {
  fc.assert(
    fc.property(stepsOf(...usual, 'make none', 'lose'), fc.infiniteStream(fc.nat()), (steps, numbers) => {
      const { ended, flagged } = play(steps, numbers)
      const known = ended.filter(({ isStated }) => isStated).map(({ version }) => version)
      expect(flagged.filter((version) => known.includes(version))).toEqual([])
    }),
    { numRuns: isThorough ? 3_000 : 300 },
  )
})
