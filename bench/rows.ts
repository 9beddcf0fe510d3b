import type { Sample } from './measure.ts'

/** Workload name of the memory that is read after the warm-up, which only has small requests. */
export const warmUp = 'warm-up'

/** A row of the table: one figure of a workload. Less is better in all rows. */
export interface Row {
  readonly name: string
  readonly what: string
  readonly workload: string
  readonly figure: keyof Sample
  /** For Node 24 and newer; a fifth more is accepted on older ones. `envoy`: no more than Envoy in the same round. */
  readonly goal?: number | 'envoy'
}

export const rows: readonly Row[] = [
  cpu('key', 'small call with a key, CPU µs', 30),
  cpu('token', 'small call with one token, CPU µs', 32),
  cpu('tokens', 'small call with 10,000 tokens, CPU µs', 36),
  cpu('refusals', 'refused by its path, CPU µs', 20),
  cpu('connections', '1,000 connections, CPU µs', 50),
  p99('connections', '1,000 connections, p99 ms', 'envoy'),
  cpu('download', 'download of 64 MiB, CPU ms per 100 MB'),
  cpu('upload', 'upload of 64 MiB, CPU ms per 100 MB', 40),
  cpu('upload-chunked', 'the same in chunks, CPU ms per 100 MB', 40),
  p99('beside-downloads', '500 small calls/s beside two 256 MiB downloads, p99 ms', 12),
  p99('beside-uploads', '500 small calls/s beside two 256 MiB uploads, p99 ms', 12),
  {
    name: 'memory-small',
    what: 'resident memory under small calls, MB',
    workload: warmUp,
    figure: 'memory',
    goal: 128,
  },
  {
    name: 'memory-bulk',
    what: 'resident memory after bulk, MB',
    workload: 'upload-chunked',
    figure: 'memory',
    goal: 192,
  },
]

/** Figures of each round, by row and server. */
export type Figures = ReadonlyMap<string, ReadonlyMap<string, readonly number[]>>

/** Collects samples as figures, except those that are NaN. */
export class FigureCollector {
  readonly #figures = new Map<string, Map<string, number[]>>()

  add(workload: string, server: string, sample: Sample): void {
    for (const row of rows.filter((each) => each.workload === workload)) {
      if (Number.isNaN(sample[row.figure])) continue
      const ofRow = this.#figures.get(row.name) ?? new Map<string, number[]>()
      this.#figures.set(row.name, ofRow)
      ofRow.set(server, [...(ofRow.get(server) ?? []), sample[row.figure]])
    }
  }

  get figures(): Figures {
    return this.#figures
  }
}

function cpu(workload: string, what: string, goal?: number): Row {
  return { name: workload, workload, what, figure: 'processorTime', ...(goal !== undefined && { goal }) }
}

function p99(workload: string, what: string, goal: number | 'envoy'): Row {
  return { name: `${workload}-p99`, workload, what, figure: 'p99', goal }
}
