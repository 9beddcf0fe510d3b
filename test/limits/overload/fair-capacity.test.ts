import fc from 'fast-check'
import { expect, it } from 'vitest'
import { FairCapacity } from '../../../src/limits/overload/fair-capacity.ts'

function takeAll(capacity: FairCapacity, holder: string): number {
  let count = 0
  while (capacity.take(holder)) count += 1
  return count
}

it('the first holders that never release get a half, a quarter, an eighth, and the next still gets some', () => {
  const capacity = new FairCapacity(1_024, 1)
  const taken = ['a', 'b', 'c', 'd', 'e', 'f', 'g'].map((holder) => takeAll(capacity, holder))
  expect(taken).toEqual([512, 256, 128, 64, 32, 16, 8])
})

it('released capacity is available to others', () => {
  const capacity = new FairCapacity(16, 1)
  expect([takeAll(capacity, 'a'), takeAll(capacity, 'b')]).toEqual([8, 4])
  for (let count = 0; count < 8; count += 1) capacity.release('a')
  expect(takeAll(capacity, 'b')).toBe(4)
  expect(capacity.held('a')).toBe(0)
})

it.each([1, 2, 3])('the first holder may take one of %i', (limit) => {
  expect(new FairCapacity(limit, 1).take('a')).toBe(true)
})

it('the total never exceeds the limit, and is exact', () => {
  const step = fc.record({
    holder: fc.constantFrom('a', 'b', 'c'),
    amount: fc.integer({ min: 1, max: 40 }),
    takes: fc.boolean(),
  })
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 100 }),
      fc.constantFrom(1, 7),
      fc.array(step),
      (limit, ratio, steps) => {
        const capacity = new FairCapacity(limit, ratio)
        const held = new Map<string, number[]>()
        for (const { holder, amount, takes } of steps) {
          const amounts = held.get(holder) ?? []
          held.set(holder, amounts)
          if (takes) {
            const may = capacity.canTake(holder, amount)
            expect(capacity.take(holder, amount)).toBe(may)
            if (may) amounts.push(amount)
          } else {
            const released = amounts.pop()
            if (released !== undefined) capacity.release(holder, released)
          }
          const sums = [...held].map(
            ([name, all]) => [name, all.reduce((sum, each) => sum + each, 0)] as const,
          )
          for (const [name, sum] of sums) expect(capacity.held(name)).toBe(sum)
          expect(capacity.used).toBe(sums.reduce((total, [, sum]) => total + sum, 0))
          expect(capacity.used).toBeLessThanOrEqual(limit)
        }
      },
    ),
  )
})
