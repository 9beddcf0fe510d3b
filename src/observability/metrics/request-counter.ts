import { Counter, type CounterConfiguration } from 'prom-client'

/** One series of a counter. Look it up once and reuse it. */
interface CountedSeries {
  inc(): void
}

export interface RequestCounter {
  /** Returns the series of these label values, in the order of the label names; cache the result. */
  labels(...values: string[]): CountedSeries
}

/**
 * A counter with a cheap `inc`: prom-client looks up the series each time, in 0.4 us. Counts are copied to prom-client
 * on collection.
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
