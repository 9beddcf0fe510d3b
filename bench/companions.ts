import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

/** A benchmark of one part of the gateway: a program of its own that prints its result. */
export interface Companion {
  readonly name: string
  readonly what: string
  /** Approximate duration on an idle machine. */
  readonly seconds: number
  /** Heading of the section of bench/results.md that has its result. */
  readonly section?: string
}

/** All companions, in the order of the results. */
export const companions: readonly Companion[] = [
  {
    name: 'policy-evaluation',
    what: 'time of a decision with 10, 1,000 and 10,000 policies',
    seconds: 12,
  },
  {
    name: 'restricted-queries',
    what: 'time to decide about a query and to restrict it to rows and columns',
    seconds: 10,
  },
  { name: 'listing-filter', what: 'time to filter a page of 1,000 names', seconds: 15 },
  {
    name: 'audit-modes',
    what: 'time of a commit and of an upload of 1 MiB with the modes `besteffort` and `strict` of the audit log',
    seconds: 220,
  },
  {
    name: 'catalog',
    what: 'time of operations of the bundled catalog with 10 and with 100,000 tables',
    seconds: 60,
  },
  {
    name: 'racing-commits',
    what: 'time and conflicts of 8 clients that each commit 25 times to one table of the bundled catalog',
    seconds: 20,
  },
  {
    name: 'query-memory',
    what: 'memory of the bundled catalog during queries of 1,000,000 rows',
    seconds: 80,
  },
  {
    name: 'slow-connections',
    what: 'latency of a small read beside a thousand connections that send a byte a second',
    seconds: 20,
  },
  {
    name: 'slow-bodies',
    what: 'latency of a small read beside 200 slow uploads and 200 slow downloads',
    seconds: 40,
  },
  {
    name: 'overload',
    what: 'requests served at up to ten times the capacity of the catalog',
    seconds: 55,
  },
  {
    name: 'tls',
    what: 'CPU time over TLS, beside other servers',
    seconds: 480,
    section: 'TLS',
  },
  {
    name: 'features',
    what: 'CPU time of a small read with one more feature each',
    seconds: 220,
    section: 'Features',
  },
  {
    name: 'growth',
    what: 'CPU time by the number of API keys, policies, principals, tables and audit records',
    seconds: 90,
    section: 'Growth',
  },
  {
    name: 'soak',
    what: 'resident memory of the gateway in half an hour of a load of all kinds',
    seconds: 1_830,
  },
]

/** Runs a companion; resolves to its output or to the reason of its failure. Rejects when the signal aborts. */
export async function runCompanion({ name }: Companion, signal: AbortSignal): Promise<string> {
  const program = fileURLToPath(new URL(`${name}.ts`, import.meta.url))
  try {
    const { stdout } = await promisify(execFile)(
      process.execPath,
      ['--import', import.meta.resolve('tsx'), program],
      { signal },
    )
    return stdout.trimEnd()
  } catch (error) {
    if (signal.aborted) throw error
    return `it failed: ${error instanceof Error ? error.message : String(error)}`
  }
}
