import type { ChildProcess, StdioOptions } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { makeFolder } from '../../lib/index.ts'
import { stringify } from 'yaml'
import { environmentPrefix } from '../../settings/index.ts'
import { forkCatalog, stopCatalog } from '../common/catalog-process.ts'
import { CommandFailure } from '../common/command-failure.ts'

export type BundledCatalog = Awaited<ReturnType<typeof startBundledCatalog>>

const startupMs = 30_000

/**
 * Starts the reference catalog on a private loopback port, with its data in that folder. It ends with this process,
 * even if this one is killed. Rejects if it does not start.
 */
export async function startBundledCatalog(folder: string) {
  const accessToken = randomBytes(32).toString('base64url')
  await makeFolder(folder)
  const file = join(folder, 'catalog.yaml')
  const settings = {
    listen: { host: '127.0.0.1', port: 0 },
    data: { folder: 'data' },
    accessToken,
    log: { level: 'warn' },
  }
  await writeFile(file, stringify(settings), { mode: 0o600 })
  // Variables of the environment are settings of gateways; the catalog would refuse them.
  const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith(environmentPrefix))
  const stdio: StdioOptions = ['ignore', 'pipe', 'inherit', 'ipc']
  const child = forkCatalog(['--config', file], stdio, Object.fromEntries(inherited))
  const url = await readAnnouncedUrl(child)
  let isStopped = false
  const ended = new Promise<never>((_resolve, reject) => {
    child.once('exit', (code, signal) => {
      if (!isStopped) reject(new CommandFailure(`the catalog process exited (${signal ?? code})`))
    })
  })
  // It may end before anybody waits for it.
  ended.catch(() => undefined)
  return {
    url,
    /** Credential that the catalog requires, so that it can only be reached through the gateway. */
    authorization: `Bearer ${accessToken}`,
    /** Rejects with CommandFailure when the process exits without being stopped. */
    ended,
    stop(): Promise<void> {
      isStopped = true
      return stopCatalog(child)
    },
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
