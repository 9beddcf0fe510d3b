import { randomBytes } from 'node:crypto'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { stringify } from 'yaml'
import type { ListenSettings } from '../../src/config/listen-settings.ts'
import { createKey } from '../../src/identity/api-keys/key-store.ts'
import { allowEverything } from '../gateway/support/open-gateway.ts'
import { formatPolicies } from '../policy/policy-builder.ts'
import { startProgram } from './built-program.ts'
import { makeTemporaryFolder, removeFolder } from '../support/temporary-folder.ts'

/** A gateway in its own process, whose memory can be measured. */
export interface GatewayProgram {
  readonly url: string
  /** A key that allows everything. */
  readonly key: string
  residentBytes(): Promise<number>
  /** The most resident memory that was seen until the work has ended. */
  peakDuring(work: Promise<unknown>): Promise<number>
  /** Stops it as an operator does and removes its files. */
  remove(): Promise<void>
}

/** Starts the built gateway in front of that URL, with default settings otherwise; the caller must remove it. */
export async function startGatewayProgram(
  upstreamUrl: string,
  listen: Partial<ListenSettings> = {},
): Promise<GatewayProgram> {
  const folder = await makeTemporaryFolder()
  const key = await writeSettings(folder, upstreamUrl, listen)
  const program = startProgram(['serve', '--config', join(folder, 'gateway.yaml')])
  const url = await program.announced(/^listening on (https?:\S+)$/m)
  const adminUrl = await program.announced(/^admin on (http:\S+)$/m)

  async function residentBytes(): Promise<number> {
    const metrics = await (await fetch(`${adminUrl}/metrics`)).text()
    return Number(/^process_resident_memory_bytes (\d+)/m.exec(metrics)?.[1])
  }

  return {
    url,
    key,
    residentBytes,
    async peakDuring(work) {
      const finished = work.then(() => true)
      for (let peak = 0; ;) {
        peak = Math.max(peak, await residentBytes())
        if (await Promise.race([finished, pause(20, false)])) return peak
      }
    },
    async remove() {
      program.signal('SIGTERM')
      await program.ended
      await removeFolder(folder)
    },
  }
}

/** Returns the key. */
async function writeSettings(
  folder: string,
  upstreamUrl: string,
  listen: Partial<ListenSettings>,
): Promise<string> {
  const pepper = randomBytes(32).toString('base64url')
  await writeFile(join(folder, 'keys.yaml'), 'keys: []\n')
  await writeFile(join(folder, 'pepper'), pepper)
  const { text: key } = await createKey(join(folder, 'keys.yaml'), Buffer.from(pepper), {
    principal: 'dev',
    groups: [],
  })
  await mkdir(join(folder, 'policies'))
  await writeFile(join(folder, 'policies', 'everything.yaml'), formatPolicies([allowEverything]))
  const settings = {
    listen: { port: 0, ...listen },
    admin: { port: 0 },
    upstream: { url: upstreamUrl },
    identity: { apiKeys: { store: 'keys.yaml', pepperFile: 'pepper' } },
    policies: { folder: 'policies' },
    audit: { folder: 'audit' },
    log: { level: 'error' },
  }
  await writeFile(join(folder, 'gateway.yaml'), stringify(settings))
  return key
}
