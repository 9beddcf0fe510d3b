import { setTimeout as pause } from 'node:timers/promises'
import { bytesCountPath } from './exchanges.ts'
import { runLoad, type LoadSetup } from './load.ts'
import { forgetPeakMemory, peakMemory, processorMicroseconds } from './process-cost.ts'
import type { ServerProcess } from './server-process.ts'
import type { Workload } from './workloads.ts'

/** One measurement of one server. */
export interface Sample {
  /** Requests, or megabytes (1,000,000 bytes) of bodies. */
  readonly perSecond: number
  /** Of the server: microseconds for a request, or for 100 kB of bodies (milliseconds for 100 MB). */
  readonly processorTime: number
  /** How much of one core that was, from 0 to 1. */
  readonly coreShare: number
  /** Latencies, in microseconds. */
  readonly p50: number
  readonly p99: number
  /** The most memory that it held meanwhile, in bytes. */
  readonly memory: number
}

/** What takes part in a measurement. */
export interface Measured {
  readonly workload: Workload
  readonly server: ServerProcess
  readonly upstream: ServerProcess
}

/** Measures a server under a workload for so long. Rejects where an answer was not as expected. */
export async function measure(
  { workload, server, upstream }: Measured,
  seconds: number,
  setup: LoadSetup,
): Promise<Sample> {
  forgetPeakMemory(server.pid)
  const bytesBefore = await bytesTaken(upstream)
  const timeBefore = processorMicroseconds(server.pid)
  const startedAt = performance.now()
  const result = await runLoad(workload, server.port, seconds, setup)
  const elapsed = (performance.now() - startedAt) * 1000
  const used = processorMicroseconds(server.pid) - timeBefore
  server.assertRunning()
  const bytes = workload.bulk === 'up' ? (await bytesTaken(upstream)) - bytesBefore : result.bytes
  const amount = workload.bulk === undefined ? result.requests : bytes / 100_000
  const memory = peakMemory(server.pid)
  await server.emptyLog()
  // What the load has left behind, connections above all, is cleared away before the next one comes.
  await pause(100)
  return {
    perSecond: (workload.bulk === undefined ? result.requests : bytes / 1e6) / (result.microseconds / 1e6),
    processorTime: used / amount,
    coreShare: used / elapsed,
    p50: result.p50,
    p99: result.p99,
    memory,
  }
}

async function bytesTaken({ port }: ServerProcess): Promise<number> {
  const response = await fetch(`http://127.0.0.1:${port}${bytesCountPath}`)
  return ((await response.json()) as { bytes: number }).bytes
}
