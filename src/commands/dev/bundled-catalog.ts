import type { ChildProcess, StdioOptions } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { Backoff, makeFolder } from '../../lib/index.ts'
import { stringify } from 'yaml'
import { environmentPrefix } from '../../settings/index.ts'
import { forkCatalog, stopCatalog } from '../common/catalog-process.ts'
import { CommandFailure } from '../common/command-failure.ts'
import type { Io } from '../common/io.ts'

/** The reference catalog in a process of its own, which is restarted when it exits or hangs. */
export interface BundledCatalog {
  readonly url: string
  /** Credential that the catalog requires, so that it can only be reached through the gateway. */
  readonly authorization: string
  stop(): Promise<void>
}

interface CatalogProcess {
  readonly child: ChildProcess
  readonly url: string
}

interface ProcessOptions {
  readonly accessToken: string
  readonly port: number
  readonly maxUploadBytes: number | undefined
}

const startupMs = 30_000
/** Delays of restarts; the first one again after a run of `stableRunMs`. */
const restartDelays = { minMs: 500, maxMs: 30_000 }
const stableRunMs = 60_000
/** Consecutive failed checks after which the catalog is killed; a hanging engine fails them too. */
const checkMs = 5_000
const checkTimeoutMs = 5_000
const maxFailedChecks = 3

/**
 * Starts the reference catalog on a private loopback port, with its data in that folder. It ends with this process,
 * even if this one is killed. `maxUploadBytes` is the maximum size of an upload, by default that of the catalog. Rejects if
 * the first start fails.
 */
export async function startBundledCatalog(
  folder: string,
  io: Io,
  maxUploadBytes?: number,
): Promise<BundledCatalog> {
  const accessToken = randomBytes(32).toString('base64url')
  await makeFolder(folder)
  const start = (port: number) =>
    startProcess(join(folder, 'catalog.yaml'), { accessToken, port, maxUploadBytes })
  let running = await start(0)
  const { url } = running
  const stopping = new AbortController()
  const restarts = superviseCatalog(
    running,
    () => start(Number(new URL(url).port)),
    stopping.signal,
    io,
    (next) => {
      running = next
    },
  )
  return {
    url,
    authorization: `Bearer ${accessToken}`,
    stop: async () => {
      stopping.abort()
      await stopCatalog(running.child)
      await restarts
    },
  }
}

async function startProcess(
  file: string,
  { accessToken, port, maxUploadBytes }: ProcessOptions,
): Promise<CatalogProcess> {
  const settings = {
    listen: { host: '127.0.0.1', port },
    data: { folder: 'data' },
    accessToken,
    ...(maxUploadBytes !== undefined && {
      limits: { maxUploadBytes, maxUploadMemoryBytes: Math.max(maxUploadBytes, 1024 ** 3) },
    }),
    log: { level: 'warn' },
  }
  await writeFile(file, stringify(settings), { mode: 0o600 })
  // Variables of the environment are settings of gateways; the catalog would refuse them.
  const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith(environmentPrefix))
  const stdio: StdioOptions = ['ignore', 'pipe', 'inherit', 'ipc']
  const child = forkCatalog(['--config', file], stdio, Object.fromEntries(inherited))
  return { child, url: await readAnnouncedUrl(child) }
}

async function superviseCatalog(
  first: CatalogProcess,
  start: () => Promise<CatalogProcess>,
  stopping: AbortSignal,
  io: Io,
  onRestart: (next: CatalogProcess) => void,
): Promise<void> {
  let running = first
  const delays = new Backoff(restartDelays)
  for (;;) {
    const since = performance.now()
    const end = await waitForExit(running, io)
    if (performance.now() - since > stableRunMs) delays.reset()
    let problem = `the catalog process exited (${end})`
    for (let isUp = false; !isUp;) {
      if (stopping.aborted) return
      const delayMs = delays.next()
      io.stderr.write(`${problem}; restarting in ${(delayMs / 1000).toFixed(1)} s\n`)
      await sleep(delayMs, undefined, { signal: stopping }).catch(() => undefined)
      if (stopping.aborted) return
      try {
        running = await start()
        // This process was stopped in the meantime.
        if (stopping.aborted) return await stopCatalog(running.child)
        onRestart(running)
        isUp = true
      } catch (error) {
        problem = error instanceof Error ? error.message : String(error)
      }
    }
    io.stderr.write('the catalog process restarted\n')
  }
}

/** Waits for the process to exit, and kills it if it hangs; resolves to the reason of the exit. */
async function waitForExit({ child, url }: CatalogProcess, io: Io): Promise<string> {
  const ended = new AbortController()
  child.once('exit', () => ended.abort())
  if (child.exitCode === null && child.signalCode === null) {
    for (let failures = 0; !ended.signal.aborted && failures < maxFailedChecks;) {
      await sleep(checkMs, undefined, { signal: ended.signal }).catch(() => undefined)
      failures = (await isAlive(url)) ? 0 : failures + 1
    }
    if (!ended.signal.aborted) {
      io.stderr.write('the catalog process is unresponsive and will be killed\n')
      child.kill('SIGKILL')
      await once(child, 'exit')
    }
  }
  return String(child.signalCode ?? child.exitCode)
}

async function isAlive(url: string): Promise<boolean> {
  try {
    const response = await fetch(`${url}/livez`, { signal: AbortSignal.timeout(checkTimeoutMs) })
    await response.arrayBuffer()
    return response.ok
  } catch {
    return false
  }
}

async function readAnnouncedUrl(child: ChildProcess): Promise<string> {
  if (child.stdout === null) throw new Error('the catalog process has no standard output')
  const timer = setTimeout(() => child.kill('SIGKILL'), startupMs)
  try {
    for await (const line of createInterface({ input: child.stdout })) {
      const url = /^listening on (http:\S+)$/.exec(line)?.[1]
      if (url !== undefined) return url
    }
  } finally {
    clearTimeout(timer)
  }
  throw new CommandFailure('the catalog process did not start; see its messages above')
}
