import { randomUUID } from 'node:crypto'
import { mkdtemp, readdir, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect } from '@lancedb/lancedb'
import type { Identifier } from '../../src/catalog-api/identifiers.ts'
import type { Fixture } from './fixture.ts'
import type { TableFiles } from './table-files.ts'

export interface StagedVersion {
  readonly version: number
  readonly manifest_path: string
  readonly manifest_size: number
  readonly naming_scheme: string
}

/**
 * Does what a client does before a commit: writes the next `count` versions of the table, each with one more row, and
 * leaves their manifests as staging files. A second call creates different manifests. Throws NotTestable if the files of
 * the table cannot be reached.
 */
export async function stageVersions(fixture: Fixture, id: Identifier, count = 1): Promise<StagedVersion[]> {
  const files = await fixture.tableFiles(id)
  const folder = await mkdtemp(join(tmpdir(), 'conformance-'))
  try {
    const committer = await openCommitter(files, folder)
    const staged: StagedVersion[] = []
    for (let index = 0; index < count; index += 1) staged.push(await committer.stage())
    return staged
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/**
 * A client that writes to a copy of the table in that empty folder, so that it can stage manifests without committing to
 * the table. Each such client creates a different manifest of the same version.
 */
export async function openCommitter(files: TableFiles, folder: string) {
  const copy = join(folder, 'copy.lance')
  await files.copyTo(copy)
  const table = await (await connect(folder)).openTable('copy')
  return {
    /** Commits the next version in the copy and leaves its manifest as a staging file in the table. */
    async stage(): Promise<StagedVersion> {
      const before = new Set(await readdir(join(copy, 'data')))
      await table.add([{ id: 100, name: 'staged', embedding: [100, 1] }])
      for (const name of await readdir(join(copy, 'data')))
        if (!before.has(name)) await files.add(join(copy, 'data', name), `data/${name}`)
      const version = await table.version()
      const name = `${String(2n ** 64n - 1n - BigInt(version)).padStart(20, '0')}.manifest`
      const manifest = join(copy, '_versions', name)
      const staging = `_versions/${name}-${randomUUID()}`
      await files.add(manifest, staging)
      const { size } = await stat(manifest)
      return { version, manifest_path: files.pathOf(staging), manifest_size: size, naming_scheme: 'V2' }
    },
  }
}
