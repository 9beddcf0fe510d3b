import { Counter, type CounterConfiguration } from 'prom-client'

/** One series of a counter: find it once, and count many things in it. */
interface CountedSeries {
  inc(): void
}

/** A counter of requests, for Prometheus. */
export interface RequestCounter {
  /** The series of these values, in the order of the names of the labels; to be asked for once. */
  labels(...values: string[]): CountedSeries
}

/**
 * A counter of prom-client that costs a request next to nothing: theirs finds its series anew each time, in 0.4 us.
 * What was counted goes there when the metrics are asked for.
 */
export function createRequestCounter<Label extends string>(
  options: Omit<CounterConfiguration<Label>, 'collect'>,
): RequestCounter {
  const all: { readonly series: Counter.Internal; readonly counted: SeriesCount }[] = []
  const counter = new Counter({
    ...options,
    collect() {
      for (const { series, counted } of all) series.inc(counted.take())
    },
  })
  return {
    labels(...values) {
      const counted = new SeriesCount()
      all.push({ series: counter.labels(...values), counted })
      return counted
    },
  }
}

class SeriesCount implements CountedSeries {
  #count = 0

  inc(): void {
    this.#count += 1
  }

  take(): number {
    const count = this.#count
    this.#count = 0
    return count
  }
}
