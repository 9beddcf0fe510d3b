import { setTimeout as pause } from 'node:timers/promises'
import type { Listener } from './listener.ts'

export interface GracefulShutdownOptions {
  readonly server: Listener
  /** For load balancers to notice the shutdown. */
  readonly drainDelayMs: number
  readonly graceMs: number
  /** Whether requests are being processed whose connections may be closed already. */
  readonly isProcessing: () => boolean
  readonly abort: () => void
  readonly onGraceExpired: () => void
}

/** Time for bytes that clients have sent and the process has not read yet. */
const lingerMs = 250
const maxAbortMs = 10_000
const pollMs = 10

/** Resets no connection that has a request: drains, stops accepting, waits for pending requests, closes the rest. */
export async function shutDownGracefully(options: GracefulShutdownOptions): Promise<void> {
  const { server, isProcessing } = options
  server.drain()
  await pause(options.drainDelayMs)
  await waitUntil(() => server.connectionCount() === 0, lingerMs)
  const closed = server.stopAccepting()
  const isIdle = (): boolean => !server.isBusy() && !isProcessing()
  await waitUntil(() => isIdle() && server.connectionCount() === 0, lingerMs)
  if (!(await waitUntil(isIdle, options.graceMs))) options.onGraceExpired()
  server.destroyAll()
  if (isProcessing()) {
    options.abort()
    await waitUntil(() => !isProcessing(), maxAbortMs)
  }
  await closed
}

async function waitUntil(condition: () => boolean, timeoutMs: number): Promise<boolean> {
  const end = performance.now() + timeoutMs
  while (!condition()) {
    if (performance.now() >= end) return false
    await pause(pollMs)
  }
  return true
}
