/** How often reads are sent again. */
export interface RetrySettings {
  /** So many times at most after the first. */
  readonly maxRetries: number
  /** Repeats may be so many percent of the requests, over time; a whole number. */
  readonly budgetPercent: number
}

/** Keeps repeats a small share of all requests, so that they never multiply the load of an upstream in trouble. */
export interface RetryBudget {
  /** A request has been sent for the first time. */
  deposit(): void
  /** Whether a request may be sent again now. */
  tryWithdraw(): boolean
}

/** So many repeats are allowed at once after a quiet time. */
const maxSavedRetries = 50

/** A full budget. */
export function createRetryBudget({ budgetPercent }: RetrySettings): RetryBudget {
  // In hundredths of a repeat: sums of fractions would not come out even.
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
