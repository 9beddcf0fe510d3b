import { randomUUID } from 'node:crypto'
import { copyFile, cp, mkdtemp, readdir, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { connect } from '@lancedb/lancedb'
import type { Identifier } from '../../src/catalog-api/identifiers.ts'
import { NotTestable } from './catalog-client.ts'
import type { Fixture } from './fixture.ts'

export interface StagedVersion {
  readonly version: number
  readonly manifest_path: string
  readonly manifest_size: number
  readonly naming_scheme: string
}

/** Returns the versions folder of a table; throws NotTestable if the catalog stores its tables out of reach. */
async function locationOf({ ok }: Fixture, id: Identifier): Promise<string> {
  const location = String((await ok('DescribeTable', id))['location'])
  const folder = location.startsWith('file:') ? fileURLToPath(location) : location
  if (folder.startsWith('/') && (await stat(folder).catch(() => undefined))?.isDirectory()) return folder
  throw new NotTestable('the tables of this catalog do not lie on this machine')
}

/**
 * Does what a client does before a commit: writes the next `count` versions of the table, each with one more row, and
 * leaves their manifests as staging files. A second call creates different manifests.
 */
export async function stageVersions(fixture: Fixture, id: Identifier, count = 1): Promise<StagedVersion[]> {
  const location = await locationOf(fixture, id)
  const copies = await mkdtemp(join(tmpdir(), 'conformance-'))
  try {
    await cp(location, join(copies, 'copy.lance'), { recursive: true })
    const database = await connect(copies)
    const table = await database.openTable('copy')
    const staged: StagedVersion[] = []
    for (let index = 0; index < count; index += 1) {
      await table.add([{ id: 100 + index, name: 'staged', embedding: [100, 1] }])
      staged.push(await stage(join(copies, 'copy.lance'), location, await table.version()))
    }
    await copyMissing(join(copies, 'copy.lance', 'data'), join(location, 'data'))
    database.close()
    return staged
  } finally {
    await rm(copies, { recursive: true, force: true })
  }
}

async function stage(copy: string, location: string, version: number): Promise<StagedVersion> {
  const name = `${String(2n ** 64n - 1n - BigInt(version)).padStart(20, '0')}.manifest`
  const staging = join(location, '_versions', `${name}-${randomUUID()}`)
  await copyFile(join(copy, '_versions', name), staging)
  const { size } = await stat(staging)
  return { version, manifest_path: staging.slice(1), manifest_size: size, naming_scheme: 'V2' }
}

async function copyMissing(from: string, to: string): Promise<void> {
  const there = new Set(await readdir(to))
  for (const file of await readdir(from)) {
    if (!there.has(file)) await copyFile(join(from, file), join(to, file))
  }
}
