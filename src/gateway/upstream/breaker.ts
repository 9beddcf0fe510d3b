/** When a breaker opens, and for how long. */
export interface BreakerSettings {
  /** So many failures in a row open it. */
  readonly failures: number
  /** Milliseconds without any attempt after it has opened, and then between one attempt and the next. */
  readonly openMs: number
}

/** `closed`: all may pass. `open`: none. `half-open`: one at a time finds out whether things are well again. */
export type BreakerState = 'closed' | 'open' | 'half-open'

/** What an attempt tells of the upstream; `nothing` where it ended for reasons of its own. */
export type Verdict = 'good' | 'bad' | 'nothing'

/** Keeps requests away from an upstream that does not answer. */
export interface Breaker {
  state(): BreakerState
  /** Milliseconds until an attempt may be made; 0 where one may be made now. */
  closedForMs(): number
  /** A ticket for one attempt, to be handed back with its verdict; undefined where none may be made now. */
  admit(): number | undefined
  /** An attempt from before the breaker last changed its state says nothing of now: its verdict is not counted. */
  settle(ticket: number, verdict: Verdict): void
  /** Opens it, whatever was counted. */
  trip(): void
}

/** A closed breaker. `now` answers milliseconds that only grow. */
export function createBreaker(
  { failures: limit, openMs }: BreakerSettings,
  now: () => number = () => performance.now(),
): Breaker {
  let state: BreakerState = 'closed'
  let failures = 0
  let ticket = 1
  let nextAttemptAt = 0

  function become(next: BreakerState): void {
    state = next
    failures = 0
    ticket += 1
    nextAttemptAt = now() + openMs
  }

  return {
    state: () => state,
    closedForMs: () => (state === 'closed' ? 0 : Math.max(0, nextAttemptAt - now())),
    admit() {
      if (state === 'closed') return ticket
      if (now() < nextAttemptAt) return undefined
      if (state === 'open') become('half-open')
      // An attempt may take long: the next one does not wait for it for ever.
      nextAttemptAt = now() + openMs
      return ticket
    },
    settle(from, verdict) {
      if (from !== ticket) return
      if (verdict === 'bad') {
        failures += 1
        if (state === 'half-open' || failures >= limit) become('open')
      } else if (state === 'half-open') {
        if (verdict === 'good') become('closed')
        else nextAttemptAt = now()
      } else if (verdict === 'good') {
        failures = 0
      }
    },
    trip: () => become('open'),
  }
}
