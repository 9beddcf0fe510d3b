import { mkdir, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { expect, it } from 'vitest'
import {
  findTransaction,
  formatManifestName,
  listManifests,
} from '../../../engine/manifest/manifest-files.ts'
import { localFileStorage } from '../../../storage/local-storage.ts'
import type { Storage } from '../../../storage/storage.ts'
import { temporaryFolder } from '../../../../../test/support/temporary-folder.ts'

const uuidOf = (version: number) => `00000000-0000-4000-8000-00000000000${version}`
const field = (number: number, text: string) =>
  Buffer.concat([Buffer.of(number * 8 + 2, text.length), Buffer.from(text)])

async function emptyTable(): Promise<string> {
  const location = path.join(await temporaryFolder(), 'orders.lance')
  await mkdir(path.join(location, '_versions'), { recursive: true })
  return location
}

/** Encodes a manifest that, like those of older writers, only names its transaction file. */
function manifestOf(version: number, transactionFile: string): Buffer {
  const message = Buffer.concat([Buffer.of(3 * 8, version), field(12, transactionFile)])
  const file = Buffer.concat([Buffer.alloc(4), message, Buffer.alloc(12), Buffer.from('LANC')])
  file.writeUInt32LE(message.length)
  return file
}

it('a manifest that only names its transaction file has its UUID and the version read', async () => {
  const location = await emptyTable()
  for (const version of [1, 2]) {
    const manifest = path.join(location, '_versions', formatManifestName(version, 'V2'))
    await writeFile(manifest, manifestOf(version, `${version - 1}-${uuidOf(version)}.txn`))
  }
  const found = { uuid: uuidOf(2), version: 2, readVersion: 1 }
  for (const transaction of ['2', uuidOf(2)])
    expect(await findTransaction(localFileStorage, location, [], transaction)).toMatchObject(found)
})

it('an unknown transaction costs the same for any number of versions, and a listing opens no file', async () => {
  const location = await emptyTable()
  for (let version = 1; version <= 1000; version += 1) {
    const manifest = path.join(location, '_versions', formatManifestName(version, 'V2'))
    await writeFile(manifest, manifestOf(1, ''))
  }
  let calls = 0
  const storage: Storage = {
    ...localFileStorage,
    async *list(folder) {
      for await (const file of localFileStorage.list(folder)) {
        const stat = () => {
          calls += 1
          return file.stat()
        }
        yield { ...file, stat }
      }
    },
    async read(file, limit) {
      calls += 1
      return localFileStorage.read(file, limit)
    },
  }
  expect(await listManifests(storage, { location })).toHaveLength(1000)
  expect(calls).toBe(0)
  expect(await findTransaction(storage, location, [], uuidOf(1))).toBeUndefined()
  expect(calls).toBe(200)
})
