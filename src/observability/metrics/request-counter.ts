import { Counter, type CounterConfiguration } from 'prom-client'

/** Look it up once and reuse it. */
interface CounterSeries {
  inc(): void
}

export interface RequestCounter {
  /** Label values in the order of the names. */
  labels(...values: string[]): CounterSeries
}

/** Counts in less than the 0.4 us of prom-client, which looks up the series each time; copied to it on collection. */
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

class SeriesCount implements CounterSeries {
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
