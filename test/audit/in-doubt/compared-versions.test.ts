import fc from 'fast-check'
import { expect, it } from 'vitest'
import type { ChangeEffect, ChangeIntent, StartedChange } from '../../../src/audit/in-doubt/table-history.ts'
import { TableHistory } from '../../../src/audit/in-doubt/table-history.ts'
import type { Details } from '../../../src/audit/records/audit-record.ts'
import type { AnyOperationName } from '../../../src/catalog-api/operations.ts'
import { isThorough } from '../../support/thorough.ts'

const id = ['sales', 'orders']

function begin(history: TableHistory, operation: AnyOperationName, more: Partial<ChangeIntent> = {}) {
  return history.begin({ request: 'r', operation, effect: 'commit', id, details: {}, ...more })
}

function change(
  history: TableHistory,
  operation: AnyOperationName,
  effect: ChangeEffect,
  more: Partial<ChangeIntent> = {},
) {
  return history.end(begin(history, operation, more), effect)
}

const created = (version: number) => [{ id, version }]
const read = (history: TableHistory, version: number) => history.endRead(history.startRead(id), version)

it('the first read of a table finds no difference, and later ones find each difference once', () => {
  const history = new TableHistory()
  expect([4, 4, 6, 6, 7].map((version) => read(history, version))).toEqual([
    undefined,
    undefined,
    { before: 4, version: 6 },
    undefined,
    { before: 6, version: 7 },
  ])
})

it('a lower version is a difference, and the known one from then on', () => {
  const history = new TableHistory()
  expect([7, 2, 2, 3].map((version) => read(history, version))).toEqual([
    undefined,
    { before: 7, version: 2 },
    undefined,
    { before: 2, version: 3 },
  ])
})

it('versions that a read has found are no gap for later changes, and those after it are', () => {
  const history = new TableHistory()
  change(history, 'InsertIntoTable', created(1))
  expect(read(history, 3)).toEqual({ before: 1, version: 3 })
  expect(change(history, 'InsertIntoTable', created(4))).toEqual([])
  expect(change(history, 'InsertIntoTable', created(6))).toEqual([{ id, from: 5, to: 5 }])
  expect(read(history, 6)).toBeUndefined()
})

it('a first read leaves what is known of branches', () => {
  const history = new TableHistory()
  const onBranch = (version: number) =>
    change(history, 'InsertIntoTable', [{ id, branch: 'dev', version }], { details: { branch: 'dev' } })
  onBranch(5)
  expect(read(history, 3)).toBeUndefined()
  expect(onBranch(7)).toEqual([{ id, branch: 'dev', from: 6, to: 6 }])
})

it.each<[what: string, meanwhile: (history: TableHistory, open: StartedChange) => void]>([
  ['is open', () => undefined],
  ['ended', (history, open) => history.end(open, created(2))],
  ['began and ended', (history) => change(history, 'InsertIntoTable', created(2))],
  ['began', (history) => begin(history, 'InsertIntoTable')],
])('a read during which a change %s has no effect', (_what, meanwhile) => {
  const history = new TableHistory()
  change(history, 'InsertIntoTable', created(1))
  const open = begin(history, 'InsertIntoTable')
  const started = history.startRead(id)
  meanwhile(history, open)
  expect(history.endRead(started, 9)).toBeUndefined()
  expect(history.getNewestVersion(id, undefined)).not.toBe(9)
})

/** Each changes the table after version 7, and the read finds the last version. */
it.each<[what: string, change: (history: TableHistory) => void, found: number]>([
  ['a drop', (history) => change(history, 'DropTable', 'unclear'), 9],
  ['a deletion of versions', (history) => change(history, 'BatchDeleteTableVersions', 'unclear'), 2],
  ['a creation with a known number', (history) => change(history, 'CreateTable', created(1)), 1],
  [
    'a rename of another table to it',
    (history) =>
      change(history, 'RenameTable', 'unclear', {
        id: ['sales', 'new'],
        objects: [{ operation: 'CreateTable', id }],
      }),
    9,
  ],
  ['a job of the catalog', (history) => change(history, 'AlterTableBackfillColumns', 'job'), 9],
  [
    'the job of a materialized view',
    (history) => change(history, 'RefreshMaterializedView', 'job', { id }),
    8,
  ],
  [
    'a change whose version the catalog does not have yet',
    (history) => change(history, 'CreateTableIndex', [{ id, version: 7, observed: true }], { before: 7 }),
    8,
  ],
])('a read after %s finds no difference', (_what, make, found) => {
  const history = new TableHistory()
  change(history, 'InsertIntoTable', created(7))
  make(history)
  expect(read(history, found)).toBeUndefined()
})

it('after a job, a read finds no difference until the table is dropped', () => {
  const history = new TableHistory()
  change(history, 'AlterTableBackfillColumns', 'job')
  expect([1, 5].map((version) => read(history, version))).toEqual([undefined, undefined])
  change(history, 'DropTable', 'unclear')
  expect([1, 5].map((version) => read(history, version))).toEqual([undefined, { before: 1, version: 5 }])
})

it.each<[what: string, details: Details, difference: object | undefined]>([
  ['its first versions were made elsewhere', {}, { before: 0, version: 2 }],
  ['at a location of the caller, it may have had versions', { location: 's3://lake/old' }, undefined],
])('after a declaration of a table: %s', (_what, details, difference) => {
  const history = new TableHistory()
  change(history, 'DeclareTable', 'unclear', { effect: 'change', details })
  expect(read(history, 2)).toEqual(difference)
})

const steps = ['begin', 'make', 'answer', 'fail', 'elsewhere', 'send a read', 'read', 'receive'] as const
type Step = (typeof steps)[number] | 'lose'

const arbitrarySteps = (...possible: readonly Step[]) =>
  fc.array(fc.constantFrom(...possible), { maxLength: 80, size: 'max' })

/** Runs the steps on a table with version 1; then all changes end, and a read finds the last version. */
function play(run: readonly Step[], numbers: Iterator<number>) {
  const history = new TableHistory()
  const pick = <Item>(items: Item[]): Item | undefined =>
    items.splice((numbers.next().value ?? 0) % Math.max(1, items.length), 1)[0]
  const open: StartedChange[] = []
  const made: (readonly [StartedChange, number])[] = []
  const reads: { started: ReturnType<TableHistory['startRead']>; version?: number }[] = []
  const [own, elsewhere, flagged]: [number[], number[], number[]] = [[], [], []]
  let newest = 1
  const flag = (from: number, to: number): void => {
    for (let version = from; version <= to; version += 1) flagged.push(version)
  }
  const end = (ended: StartedChange, effect: ChangeEffect): void => {
    for (const { from, to } of history.end(ended, effect)) flag(from, to)
  }
  const receive = (started: ReturnType<TableHistory['startRead']>, version: number): void => {
    const difference = history.endRead(started, version)
    if (difference) flag(difference.before + 1, difference.version)
  }
  const perform = (step: Step): void => {
    if (step === 'begin') open.push(begin(history, 'InsertIntoTable'))
    if (step === 'elsewhere') elsewhere.push((newest += 1))
    if (step === 'send a read') reads.push({ started: history.startRead(id) })
    if (step === 'read') for (const each of reads) each.version ??= newest
    if (step === 'receive') {
      const each = pick(reads)
      if (each?.version !== undefined) receive(each.started, each.version)
    }
    const chosen = step === 'make' || step === 'fail' ? pick(open) : undefined
    if (step === 'fail' && chosen) end(chosen, 'nothing')
    if (step === 'make' && chosen) {
      made.push([chosen, (newest += 1)])
      own.push(newest)
    }
    const response = step === 'answer' || step === 'lose' ? pick(made) : undefined
    if (response) end(response[0], step === 'lose' ? 'unclear' : created(response[1]))
  }
  receive(history.startRead(id), newest)
  for (const step of run) perform(step)
  while (open.length > 0) perform('fail')
  while (made.length > 0) perform('answer')
  receive(history.startRead(id), newest)
  return { own, elsewhere, flagged }
}

it('in any order, reads and changes together flag exactly the versions created elsewhere, once', () => {
  fc.assert(
    fc.property(arbitrarySteps(...steps), fc.infiniteStream(fc.nat()), (run, numbers) => {
      const { elsewhere, flagged } = play(run, numbers)
      expect(flagged.toSorted((one, other) => one - other)).toEqual(elsewhere)
    }),
    { numRuns: isThorough ? 2_000 : 300 },
  )
})

it('with any unknown changes, own versions are never flagged', () => {
  fc.assert(
    fc.property(arbitrarySteps(...steps, 'lose'), fc.infiniteStream(fc.nat()), (run, numbers) => {
      const { own, flagged } = play(run, numbers)
      expect(flagged.filter((version) => own.includes(version))).toEqual([])
      expect(new Set(flagged).size).toBe(flagged.length)
    }),
    { numRuns: isThorough ? 2_000 : 300 },
  )
})
