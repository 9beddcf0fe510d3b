import { fork, type ChildProcess, type StdioOptions } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { Io } from './io.ts'
import { runUntilStopped } from './run-until-stopped.ts'

const main = fileURLToPath(
  new URL(`../../main${import.meta.url.endsWith('.ts') ? '.ts' : '.js'}`, import.meta.url),
)

/**
 * Keeps the memory of the catalog small; can only be set when the process starts. With one arena, glibc does not spread
 * freed memory over eight arenas per processor, and JavaScript collects response batches early, which are garbage once
 * sent. Measured: queries of 256 MB raise the memory by 30 to 50 MB, and by 50 to 95 MB without.
 */
const environment = { MALLOC_ARENA_MAX: '2' }
const flags = ['--max-semi-space-size=1']
/** Set in the environment of the child; the value is irrelevant. */
const processMarker = 'CATALOG_GATEWAY_SMALL_MEMORY'

export function isCatalogProcess(): boolean {
  return process.env[processMarker] !== undefined
}

/**
 * Starts `catalog-gateway backend` in a process of its own whose memory stays small. It ends with this process, even if
 * this one is killed. Allocator settings of the environment take precedence.
 */
export function forkCatalog(
  parameters: readonly string[],
  stdio: StdioOptions,
  inherited: NodeJS.ProcessEnv = process.env,
): ChildProcess {
  return fork(main, ['backend', ...parameters], {
    stdio,
    execArgv: [...process.execArgv, ...flags],
    env: { ...environment, ...inherited, [processMarker]: 'true' },
    // Ctrl-C in a terminal reaches the whole process group; the parent decides when the catalog stops.
    detached: true,
  })
}

/** Longer than the shutdown timeout of the catalog, and shorter than the grace period of its pod in the chart. */
const stopMs = 30_000

/** Stops the process of a catalog gracefully, or after 30 seconds by SIGKILL. */
export async function stopCatalog(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const timer = setTimeout(() => child.kill('SIGKILL'), stopMs)
  child.kill('SIGTERM')
  await once(child, 'exit')
  clearTimeout(timer)
}

/**
 * Runs `catalog-gateway backend` in a process of its own until it exits or this one is stopped; adopts its exit status.
 */
export async function runCatalogProcess(parameters: readonly string[], io: Io): Promise<void> {
  const child = forkCatalog(parameters, ['ignore', 'inherit', 'inherit', 'ipc'])
  const ended = once(child, 'exit').then(() => {
    process.exitCode = child.exitCode ?? 1
  })
  const stop = async (): Promise<void> => {
    await stopCatalog(child)
    await ended
  }
  const reload = async (): Promise<void> => {
    child.kill('SIGHUP')
  }
  await Promise.race([runUntilStopped(io, { close: stop, reload }), ended])
}
