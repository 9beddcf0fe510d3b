import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

/** A benchmark of one part of the gateway: a program of its own that prints its result. */
export interface Companion {
  readonly name: string
  readonly what: string
  /** Approximate duration on an idle machine. */
  readonly seconds: number
}

/** All companions, in the order of the results. */
export const companions: readonly Companion[] = [
  {
    name: 'policy-evaluation',
    what: 'what a decision takes with 10, 1,000 and 10,000 policies',
    seconds: 12,
  },
  { name: 'listing-filter', what: 'what it takes to filter a page of 1,000 names', seconds: 15 },
  {
    name: 'audit-modes',
    what: 'what a commit takes without the audit log, and with it: `strict` is the default',
    seconds: 70,
  },
  {
    name: 'catalog',
    what: 'what the operations of the bundled catalog take with 10 tables, and with 100,000',
    seconds: 60,
  },
  {
    name: 'slow-connections',
    what: 'how long a small call takes beside a thousand connections that send a byte a second',
    seconds: 20,
  },
  {
    name: 'slow-bodies',
    what: 'how long a small call takes beside 200 slow uploads and 200 slow downloads',
    seconds: 40,
  },
  {
    name: 'overload',
    what: 'what is served when ten times as much is asked for as the catalog can do',
    seconds: 55,
  },
  {
    name: 'workers',
    what: 'how much more several workers do, while the load takes part of the same cores',
    seconds: 110,
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
