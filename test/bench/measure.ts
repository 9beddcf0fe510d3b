import { setTimeout as pause } from 'node:timers/promises'
import { bytesCountPath } from './upstream-contract.ts'
import { runLoad, type LoadSetup } from './load.ts'
import { resetPeakMemory, peakMemory, processorMicroseconds } from './process-cost.ts'
import type { ServerProcess } from './server-process.ts'
import type { Workload } from './workloads.ts'

/** One measurement of one server. */
export interface Sample {
  /** Requests, or megabytes (1,000,000 bytes) of bodies. */
  readonly perSecond: number
  /** CPU time of the server: microseconds per request, or per 100 kB of bodies (milliseconds per 100 MB). */
  readonly processorTime: number
  /** Utilization of one core, from 0 to 1. */
  readonly coreShare: number
  /** Latencies in microseconds. */
  readonly p50: number
  readonly p99: number
  /** Peak memory in bytes. */
  readonly memory: number
}

export interface Measured {
  readonly workload: Workload
  readonly server: ServerProcess
  readonly upstream: ServerProcess
}

/** Measures a server under a workload. Rejects if a response is unexpected. */
export async function measure(
  { workload, server, upstream }: Measured,
  seconds: number,
  setup: LoadSetup,
): Promise<Sample> {
  resetPeakMemory(server.pid)
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
  // Lets the server release the connections of the load before the next measurement.
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
