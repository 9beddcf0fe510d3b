import { setTimeout as pause } from 'node:timers/promises'
import { repeatTransfer } from './bulk-load.ts'
import { disturb } from './disturb.ts'
import { credentialHeader, runLoad, type LoadSetup } from './load.ts'
import { pacedLatencies } from './paced-load.ts'
import type { Credential } from './peer.ts'
import { processorMicroseconds, residentMemory } from './process-cost.ts'
import type { ServerProcess } from './server-process.ts'
import { quantile } from './statistics.ts'
import type { Transfers } from './transfers.ts'
import { bodySizes } from './upstream-contract.ts'
import { smallReadPath, type Workload } from './workloads.ts'

/** One measurement of one server; NaN for what its workload does not measure. */
export interface Sample {
  /** CPU time of the server: microseconds per request, or milliseconds per 100 MB of bodies. */
  readonly processorTime: number
  /** Latency in milliseconds. */
  readonly p99: number
  /** Resident memory in megabytes. */
  readonly memory: number
}

export interface Measured {
  readonly workload: Workload
  readonly server: ServerProcess
  readonly credential: Credential
}

export interface MeasureSetup {
  readonly load: LoadSetup
  readonly transfers: Transfers
  readonly seconds: number
}

const bulkConnections = 4
const besideConnections = 2
/** Time for the transfers to fill buffers and sockets. */
const besideLeadMs = 300

/** Disturbs a server, and then measures it. Rejects if a response is unexpected. */
export async function measure(measured: Measured, setup: MeasureSetup): Promise<Sample> {
  const { server, credential } = measured
  const transfers = (['download', 'upload'] as const).map((transfer) =>
    setup.transfers.request(transfer, '64m', credential),
  )
  await disturb(server.port, { headers: credentialHeader(credential, setup.load.callers), transfers })
  const before = processorMicroseconds(server.pid)
  const { amount, p99 } = await runWorkload(measured, setup)
  const processorTime = (processorMicroseconds(server.pid) - before) / amount
  const memory = residentMemory(server.pid) / 1e6
  server.assertRunning()
  await server.emptyLog()
  // Lets the server release the connections of the load before the next measurement.
  await pause(100)
  return { processorTime, p99, memory }
}

/** Runs a workload; resolves to its requests, or to its bodies in units of 100 kB. */
async function runWorkload(
  { workload, server: { port }, credential }: Measured,
  { load, transfers, seconds }: MeasureSetup,
): Promise<{ readonly amount: number; readonly p99: number }> {
  if (workload.kind === 'small') {
    const { duration = 1 } = workload
    const { requests, p99 } = await runLoad(workload, { port, credential }, seconds * duration, load)
    return { amount: requests, p99: p99 / 1000 }
  }
  const size = workload.kind === 'bulk' ? '64m' : '256m'
  const request = transfers.request(workload.transfer, size, credential)
  const endAt = performance.now() + seconds * 1000
  let isOver = false
  const transferring = Promise.all(
    Array.from({ length: workload.kind === 'bulk' ? bulkConnections : besideConnections }, () =>
      repeatTransfer(port, request, () => isOver || (workload.kind === 'bulk' && performance.now() > endAt)),
    ),
  )
  if (workload.kind === 'bulk') {
    const complete = (await transferring).reduce((sum, each) => sum + each, 0)
    return { amount: (complete * bodySizes[size]) / 100_000, p99: NaN }
  }
  const headers = credentialHeader(credential, load.callers)
  const small = async (): Promise<readonly number[]> => {
    await pause(besideLeadMs)
    try {
      return await pacedLatencies({ port, path: smallReadPath, headers }, seconds)
    } finally {
      isOver = true
    }
  }
  const [latencies] = await Promise.all([small(), transferring])
  return { amount: NaN, p99: quantile(latencies, 0.99) }
}
