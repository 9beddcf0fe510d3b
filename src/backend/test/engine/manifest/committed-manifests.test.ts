import { randomUUID } from 'node:crypto'
import { readFile, readdir, rm, stat, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { expect, it } from 'vitest'
import {
  inspectStaging,
  publishRetainedManifest,
  retainManifest,
  type StagingRequest,
} from '../../../engine/manifest/commits.ts'
import { findManifest, formatManifestName, listManifests } from '../../../engine/manifest/manifest-files.ts'
import { localFileStorage } from '../../../storage/local-storage.ts'
import type { Storage } from '../../../storage/storage.ts'
import { freshEngine, orders, streamOf } from '../sample-tables.ts'
import { tableWithStaging } from './staged-tables.ts'

/** Retains a staging manifest, and returns a function that gives it its final name. */
async function retained(location: string, request: StagingRequest, storage = localFileStorage) {
  const staged = await inspectStaging(storage, location, request)
  const retainedPath = path.join(path.dirname(location), 'commits', randomUUID(), 'manifest')
  const stored = await retainManifest(storage, staged, retainedPath)
  const { version, eTag, namingScheme } = staged
  const record = { version, stagingPath: request.manifest_path, eTag, namingScheme, retainedPath }
  const publish = () => publishRetainedManifest(storage, location, record)
  return { staged, stored, retainedPath, publish }
}

it('the versions of a table are listed newest first, as object-store keys', async () => {
  const { engine, location } = await freshEngine()
  expect(await listManifests(localFileStorage, { location })).toEqual([])
  expect(await findManifest(localFileStorage, { location })).toBeUndefined()
  await engine.create(location, streamOf(orders(1)), 'create')
  await engine.insert(location, streamOf(orders(1)), 'append')
  const versions = await Promise.all(
    (await listManifests(localFileStorage, { location, branch: '' })).map((version) => version.read()),
  )
  expect(versions.map((version) => version?.version)).toEqual([2, 1])
  expect(await findManifest(localFileStorage, { location })).toEqual(versions[0])
  expect(await findManifest(localFileStorage, { location, version: 1 })).toEqual(versions[1])
  expect(await findManifest(localFileStorage, { location, version: 3 })).toBeUndefined()
  const file = path.join(location, '_versions', formatManifestName(2, 'V2'))
  const found = await stat(file)
  expect(versions[0]).toMatchObject({
    manifestPath: file.slice(1),
    manifestSize: found.size,
    timestampMillis: Math.floor(found.mtimeMs),
    namingScheme: 'V2',
  })
})

it('does not list staging files, detached versions and hints', async () => {
  const { location, versions, stage } = await tableWithStaging()
  await stage()
  await writeFile(path.join(versions, 'd7.manifest'), 'LANC')
  expect((await listManifests(localFileStorage, { location })).map(({ version }) => version)).toEqual([1])
})

it('a staged manifest is published under its final name with the tag of the staging file', async () => {
  const { location, versions, stage, read } = await tableWithStaging()
  const request = await stage()
  const { staged, stored, publish } = await retained(location, request)
  expect(staged).toMatchObject({ version: 2, namingScheme: 'V2' })
  await publish()
  expect(stored).toMatchObject({ version: 2, eTag: staged.eTag, manifestSize: request.manifest_size })
  expect(await findManifest(localFileStorage, { location, version: 2 })).toEqual(stored)
  expect(await readFile(path.join(versions, formatManifestName(2, 'V2')))).toEqual(await read())
  expect((await readdir(versions)).filter((name) => name.includes('.manifest-'))).toEqual([])
})

it('repeats the success of a replay, with and without its retained file', async () => {
  const { location, stage } = await tableWithStaging()
  const { stored, publish, retainedPath } = await retained(location, await stage())
  await publish()
  await publish()
  await rm(retainedPath)
  await publish()
  expect(await findManifest(localFileStorage, { location, version: 2 })).toEqual(stored)
})

it('does not replace a version with other content', async () => {
  const { location, versions, stage } = await tableWithStaging()
  const { publish } = await retained(location, await stage())
  const final = path.join(versions, formatManifestName(2, 'V2'))
  const other = Buffer.from(await readFile(path.join(versions, formatManifestName(1, 'V2'))))
  await writeFile(final, other)
  await expect(publish()).rejects.toMatchObject({ kind: 'ConcurrentModification' })
  expect(await readFile(final)).toEqual(other)
})

it('keeps the versions of a branch separate', async () => {
  const { location } = await tableWithStaging()
  expect(await listManifests(localFileStorage, { location, branch: 'dev' })).toEqual([])
  for (const branch of ['../other', 'a//b', '/a', 'a/../b', '..', 'a\\b', 'a.lock']) {
    await expect(listManifests(localFileStorage, { location, branch })).rejects.toMatchObject({ code: 13 })
  }
})

it('a version survives a power failure before its staging name is removed', async () => {
  const calls: string[] = []
  const storage: Storage = {
    ...localFileStorage,
    link: async (from, to, eTag) => {
      calls.push(`link ${path.basename(to)}`)
      return localFileStorage.link(from, to, eTag)
    },
    flush: async (name) => {
      calls.push(`flush ${path.basename(name)}`)
      await localFileStorage.flush(name)
    },
    remove: async (name) => {
      calls.push(`remove ${path.basename(name)}`)
      await localFileStorage.remove(name)
    },
  }
  const { location, stage } = await tableWithStaging()
  const { staged, publish } = await retained(location, await stage(), storage)
  calls.length = 0
  await publish()
  const name = path.basename(staged.finalPath)
  const removed = `remove ${path.basename(staged.stagingPath)}`
  expect(calls).toEqual([`link ${name}`, `flush ${name}`, 'flush _versions', removed])
})
