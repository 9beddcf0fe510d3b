import { copyFile, mkdir, readFile, stat } from 'node:fs/promises'
import path from 'node:path'
import { randomUUID } from 'node:crypto'
import { formatManifestName } from '../../../engine/manifest/manifest-files.ts'
import { freshEngine, orders, streamOf } from '../sample-tables.ts'

/**
 * Creates a table at version 1 and a copy of it at version 2, whose manifest a client would stage. `stage` stores that
 * manifest under a staging name; the request refers to it.
 */
export async function tableWithStaging() {
  const { engine, location } = await freshEngine()
  await engine.create(location, streamOf(orders(2)), 'create')
  const ahead = `${location.slice(0, -'.lance'.length)}-ahead.lance`
  await engine.create(ahead, streamOf(orders(2)), 'create')
  await engine.insert(ahead, streamOf(orders(2, 2)), 'append')
  const versions = path.join(location, '_versions')
  const aheadManifest = path.join(ahead, '_versions', formatManifestName(2, 'V2'))
  const stage = async (
    name = `${formatManifestName(2, 'V2')}-${randomUUID()}`,
    source = aheadManifest,
    folder = versions,
  ) => {
    await mkdir(folder, { recursive: true })
    const file = path.join(folder, name)
    await copyFile(source, file)
    const { size } = await stat(file)
    return { version: 2, manifest_path: file.slice(1), manifest_size: size }
  }
  return { location, ahead, versions, aheadManifest, stage, read: async () => readFile(aheadManifest) }
}
