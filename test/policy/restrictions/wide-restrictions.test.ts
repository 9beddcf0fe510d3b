import { expect, it } from 'vitest'
import type { ColumnType } from '../../../src/policy/restrictions/column-types.ts'
import { combineColumns } from '../../../src/policy/restrictions/restriction.ts'
import { expectLinearCost } from '../../support/cost-growth.ts'
import { compilePolicySet, createAuthorizationRequest, createCaller } from '../policy-builder.ts'

const columnsOf = (paths: readonly string[]) =>
  new Map(paths.map((path): [string, ColumnType] => [path, 'number']))
const combine = (...lists: readonly (readonly string[])[]) =>
  combineColumns(lists.map((paths) => ({ rows: undefined, columns: columnsOf(paths) })))

it.each([
  [['a', 'b'], ['b', 'c'], ['b']],
  [['a'], ['a.x', 'a.y.z', 'ab.x'], ['a.x', 'a.y.z']],
  [
    ['a.x', 'a.y.z', 'ab.x'],
    ['a', 'a.y'],
    ['a.x', 'a.y.z'],
  ],
  [['a', 'a.x'], ['a.x'], ['a.x']],
])('%j and %j leave %j', (one, other, both) => {
  expect([...combine(one, other).keys()]).toEqual(both)
})

/** Lists of that many columns, and of as many parts of structs, of which half are in both. */
const overlapping = (size: number): readonly (readonly string[])[] =>
  [0, size / 2].map((from) =>
    Array.from({ length: size }, (_, index) => [`c${from + index}`, `s.c${from + index}`]).flat(),
  )

it('the cost of combining restrictions grows with their columns', () => {
  expectLinearCost(2_000, (size) => {
    const lists = overlapping(size)
    return () => combine(...lists)
  })
})

it('restrictions are combined once, whoever they apply to', () => {
  const set = compilePolicySet([
    {
      name: 'wide',
      namespace: ['crm'],
      restrict: overlapping(1_000).map((paths, index) => ({
        id: `r${index}`,
        subjects: { any: true as const },
        tables: ['t'],
        columns: Object.fromEntries(columnsOf(paths)),
        rows: 'c500 in (1, 2)',
      })),
      rules: [],
    },
  ])
  const find = (name: string) =>
    set.findRestriction(createAuthorizationRequest(createCaller(name), 'QueryTable', 'table', ['crm', 't']))
  expect(find('al')?.columns.size).toBe(1_000)
  expect(find('bo')?.columns).toBe(find('al')?.columns)
})
