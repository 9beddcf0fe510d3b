/** Limits retries to a small ratio of all requests, so that they cannot multiply the load of a failing upstream. */
export interface RetryBudget {
  /** Called for the first attempt of a request. */
  deposit(): void
  /** Whether a retry is allowed now; uses the budget if so. */
  tryWithdraw(): boolean
}

/** Maximum burst of retries after an idle period. */
const maxSavedRetries = 50

/** Creates a full budget. `budgetPercent` is the maximum ratio of retries to requests over time, in whole percent. */
export function createRetryBudget(budgetPercent: number): RetryBudget {
  // In hundredths of a retry: sums of fractions are inexact.
  const most = budgetPercent === 0 ? 0 : maxSavedRetries * 100
  let saved = most
  return {
    deposit() {
      saved = Math.min(most, saved + budgetPercent)
    },
    tryWithdraw() {
      if (saved < 100) return false
      saved -= 100
      return true
    },
  }
}
