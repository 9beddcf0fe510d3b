import { randomUUID } from 'node:crypto'
import { link, mkdir, open, readFile, rm } from 'node:fs/promises'
import path from 'node:path'
import { InterfaceError } from '../../interface/errors.ts'
import type { TablePoint } from './engine.ts'
import { flush } from './kept-manifests.ts'
import { editSchemaMetadata } from './manifest-edit.ts'
import type { MetadataChanges, NextManifest } from './manifest-edit.ts'
import { nameManifest } from './manifest-names.ts'
import { openManifestStore } from './manifest-store.ts'
import { hasErrorCode } from './stored-version.ts'
import { refuseLinks, versionsFolder } from './versions-folder.ts'

const attempts = 50
const manifests = openManifestStore()

/**
 * Changes the metadata of the schema of the newest version of a branch: the engine has no call for this, so the
 * version is written here, as the engine would. Whoever gives a version its final name first has made it, and a
 * name is never given twice; the loser begins anew from the version that won, so that neither change is lost. The
 * engine's own writers read the transaction and do the same. Keys that are not named stay; a change of nothing
 * makes no version. Throws ConcurrentModification when others were faster every time.
 */
export async function changeSchemaMetadata(
  { location, branch }: TablePoint,
  changes: MetadataChanges,
): Promise<Readonly<Record<string, string>>> {
  const folder = versionsFolder(location, branch)
  for (let attempt = 0; attempt < attempts; attempt++) {
    const newest = await manifests.describe(location, undefined, branch)
    if (newest === undefined) throw new InterfaceError('TableNotFound', 'the table has no data')
    await refuseLinks(location, folder)
    const file = await readFile(path.join(folder, nameManifest(newest.version, newest.namingScheme)))
    const uuid = randomUUID()
    const { metadata, next } = editSchemaMetadata(file, changes, { uuid, millis: Date.now() })
    if (next === undefined) return metadata
    if (await commit(folder, nameManifest(next.version, newest.namingScheme), uuid, next)) return metadata
  }
  throw new InterfaceError('ConcurrentModification', 'other writers were faster every time; try again')
}

/** False when another writer has made that version. */
async function commit(folder: string, name: string, uuid: string, next: NextManifest): Promise<boolean> {
  const staging = path.join(folder, `${name}-${uuid}`)
  const transactions = path.join(folder, '..', '_transactions')
  const transaction = next.transaction && path.join(transactions, next.transaction.name)
  let isCommitted = false
  try {
    if (next.transaction && transaction !== undefined) {
      await mkdir(transactions, { recursive: true })
      await writeDurably(transaction, next.transaction.bytes)
    }
    await writeDurably(staging, next.file)
    isCommitted = await linkOnce(staging, path.join(folder, name))
    if (isCommitted) await flush(folder)
  } finally {
    await rm(staging, { force: true })
    if (!isCommitted && transaction !== undefined) await rm(transaction, { force: true })
  }
  return isCommitted
}

async function linkOnce(from: string, to: string): Promise<boolean> {
  try {
    await link(from, to)
    return true
  } catch (error) {
    if (hasErrorCode(error, 'EEXIST')) return false
    throw error
  }
}

async function writeDurably(file: string, bytes: Uint8Array): Promise<void> {
  const handle = await open(file, 'wx')
  try {
    await handle.writeFile(bytes)
    await handle.sync()
  } finally {
    await handle.close()
  }
}
