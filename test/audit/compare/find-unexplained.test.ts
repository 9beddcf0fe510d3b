import fc from 'fast-check'
import { expect, it } from 'vitest'
import { findUnexplained, type ListedVersion } from '../../../src/audit/compare/find-unexplained.ts'
import type { BranchRecords } from '../../../src/audit/compare/recorded-versions.ts'

/** As much as clocks may differ. */
const step = 10_000

function records(
  parts: Partial<Omit<BranchRecords, 'stated'>> & { stated?: readonly number[] },
): BranchRecords {
  return { unnumbered: [], jobs: [], baseline: -Infinity, ...parts, stated: new Set(parts.stated) }
}

/** Versions from 1 on, at these times. */
function listed(...steps: (number | undefined)[]): ListedVersion[] {
  return steps.map((at, index) => ({ version: index + 1, time: at === undefined ? undefined : at * step }))
}

const at = (from: number, to = from) => ({ from: from * step, to: to * step })

it.each<[what: string, versions: ListedVersion[], known: BranchRecords, since: number, found: number[]]>([
  ['versions that no record names', listed(10, 20, 30), records({ stated: [1, 3] }), 0, [2]],
  ['nothing from before the start', listed(10, 20, 30), records({}), 20, [3]],
  ['nothing that came with the table', listed(10, 20, 30), records({ baseline: 20 * step }), 0, [3]],
  ['one that claims to be old', listed(10, 40, 5).toReversed(), records({ stated: [2] }), 20, [3]],
  [
    'one version less for a change without a number',
    listed(10, 20, 30),
    records({ unnumbered: [at(20)] }),
    0,
    [1, 3],
  ],
  ['a version at another time than that change', listed(10), records({ unnumbered: [at(20)] }), 0, [1]],
  ['no version at a time that its clock may have', listed(10), records({ unnumbered: [at(11)] }), 0, []],
  [
    'no version, if each takes the change that ends first',
    listed(10, 30),
    records({ unnumbered: [at(10, 12), at(11, 40)] }),
    0,
    [],
  ],
  ['no version of a job', listed(10, 50, 99), records({ jobs: [at(10, 50)] }), 0, [3]],
  [
    'versions without a time, if all changes have theirs',
    listed(undefined, undefined, 10),
    records({ unnumbered: [at(10), at(3)] }),
    0,
    [2],
  ],
])('finds %s', (_, versions, known, since, found) => {
  const unexplained = findUnexplained(versions, known, since * step)
  expect(unexplained.map(({ version }) => version)).toEqual(found)
})

it('explains as many versions as there are changes at their times', () => {
  const times = fc.array(fc.integer({ min: 0, max: 40 }), { maxLength: 7 })
  const spans = fc.array(fc.tuple(fc.integer({ min: 0, max: 40 }), fc.integer({ min: 0, max: 6 })), {
    maxLength: 7,
  })
  fc.assert(
    fc.property(times, spans, (steps, changes) => {
      const sorted = steps.toSorted((one, other) => one - other)
      const unnumbered = changes.map(([from, length]) => at(from, from + length))
      const found = findUnexplained(listed(...sorted), records({ unnumbered }), -step)
      expect(sorted.length - found.length).toBe(countPairs(sorted, changes))
    }),
  )
})

/** The largest number of pairs of a time and a change around it, by trying all. */
function countPairs(times: readonly number[], changes: readonly (readonly [number, number])[]): number {
  const [first, ...others] = times
  if (first === undefined) return 0
  return changes.reduce(
    (most, [from, length], index) =>
      from - 1 <= first && first <= from + length + 1
        ? Math.max(most, 1 + countPairs(others, changes.toSpliced(index, 1)))
        : most,
    countPairs(others, changes),
  )
}
