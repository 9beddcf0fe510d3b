import type { ChildProcess } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { stringify } from 'yaml'
import { forkCatalog } from './catalog-process.ts'
import { CommandFailure } from './failure.ts'

/** The reference catalog in a process of its own. */
export interface BundledCatalog {
  readonly url: string
  /** What it must be told before it answers: nobody reaches it but through the gateway. */
  readonly authorization: string
  /** Rejects when the process ends by itself. */
  readonly ended: Promise<never>
  stop(): Promise<void>
}

/** How long the catalog may take to come up. */
const startupMs = 30_000

/**
 * Starts the reference catalog on a private loopback port, with its data in that folder. It ends with this
 * process, also when this process is killed. Rejects if it does not come up.
 */
export async function startBundledCatalog(folder: string): Promise<BundledCatalog> {
  const authorization = `Bearer ${randomBytes(32).toString('base64url')}`
  const settings = {
    listen: { host: '127.0.0.1', port: 0 },
    data: { folder: 'data' },
    accessToken: authorization.slice('Bearer '.length),
    log: { level: 'warn' },
  }
  await mkdir(folder, { recursive: true })
  const file = join(folder, 'catalog.yaml')
  await writeFile(file, stringify(settings), { mode: 0o600 })
  const child = forkCatalog(['--config', file], ['ignore', 'pipe', 'inherit', 'ipc'])
  const url = await announcedUrl(child)
  const ended = once(child, 'exit').then(([code, signal]) => {
    throw new CommandFailure(
      `the catalog process ended (${String(signal ?? code)}); its messages stand above`,
    )
  })
  // Where nobody waits for it, the end was wanted.
  ended.catch(() => undefined)
  return {
    url,
    authorization,
    ended,
    stop: async () => {
      if (child.exitCode !== null || child.signalCode !== null) return
      child.kill('SIGTERM')
      await once(child, 'exit')
    },
  }
}

async function announcedUrl(child: ChildProcess): Promise<string> {
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
  throw new CommandFailure('the catalog process did not start; its messages stand above')
}
