import { expect, it } from 'vitest'
import { createRetryBudget } from '../../../src/gateway/upstream/upstream.ts'

/** Number of retries that are allowed after that many requests. */
function allowed(budgetPercent: number, requests: number): number {
  const budget = createRetryBudget(budgetPercent)
  while (budget.tryWithdraw());
  for (let count = 0; count < requests; count += 1) budget.deposit()
  let repeats = 0
  while (budget.tryWithdraw()) repeats += 1
  return repeats
}

it.each([
  [20, 100, 20],
  [100, 30, 30],
  [50, 1_000_000, 50],
  [20, 4, 0],
  [0, 1_000_000, 0],
])('with %i percent, %i requests allow %i retries', (percent, requests, repeats) => {
  expect(allowed(percent, requests)).toBe(repeats)
})

it('allows a burst of retries after an idle period', () => {
  const budget = createRetryBudget(20)
  let repeats = 0
  while (budget.tryWithdraw()) repeats += 1
  expect(repeats).toBe(50)
})
