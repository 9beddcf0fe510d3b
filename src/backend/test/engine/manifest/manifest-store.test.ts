import { readFile, readdir, stat, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { expect, it } from 'vitest'
import { formatManifestName, type ListedVersion } from '../../../engine/manifest/manifest-files.ts'
import { openManifestStore } from '../../../engine/manifest/manifest-store.ts'
import { localFileStorage } from '../../../storage/local-storage.ts'
import type { Storage } from '../../../storage/storage.ts'
import { freshEngine, orders, streamOf } from '../sample-tables.ts'
import { tableWithStaging } from './staged-tables.ts'

const store = openManifestStore()

it('the versions of a table are listed newest first, as object-store keys', async () => {
  const { engine, location } = await freshEngine()
  expect(await store.list(location, undefined)).toEqual([])
  expect(await store.describe(location, undefined, undefined)).toBeUndefined()
  await engine.create(location, streamOf(orders(1)), 'create')
  await engine.insert(location, streamOf(orders(1)), 'append')
  const versions = await Promise.all((await store.list(location, '')).map((version) => version.read()))
  expect(versions.map((version) => version?.version)).toEqual([2, 1])
  expect(await store.describe(location, undefined, undefined)).toEqual(versions[0])
  expect(await store.describe(location, 1, undefined)).toEqual(versions[1])
  expect(await store.describe(location, 3, undefined)).toBeUndefined()
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
  expect((await store.list(location, undefined)).map(({ version }) => version)).toEqual([1])
})

it('a staged manifest is published under its final name with the tag of the staging file', async () => {
  const { location, versions, stage, read } = await tableWithStaging()
  const request = await stage()
  const staged = await store.inspectStaging(location, request)
  expect(staged).toMatchObject({ version: 2, namingScheme: 'V2' })
  const published = await store.publish(staged)
  expect(published).toMatchObject({ version: 2, eTag: staged.eTag, manifestSize: request.manifestSize })
  expect(published).toEqual(await store.describe(location, 2, undefined))
  expect(await readFile(path.join(versions, formatManifestName(2, 'V2')))).toEqual(await read())
  expect((await readdir(versions)).filter((name) => name.includes('.manifest-'))).toEqual([])
})

it('repeats the success of a replay with a staging file of the same content', async () => {
  const { location, stage } = await tableWithStaging()
  const published = await store.publish(await store.inspectStaging(location, await stage()))
  const copy = await store.inspectStaging(location, await stage())
  expect(await store.publish(copy)).toEqual(published)
})

it('does not replace a version with other content', async () => {
  const { location, versions, stage } = await tableWithStaging()
  const request = await stage()
  const final = path.join(versions, formatManifestName(2, 'V2'))
  const other = Buffer.from(await readFile(path.join(versions, formatManifestName(1, 'V2'))))
  await writeFile(final, other)
  const staged = await store.inspectStaging(location, request)
  await expect(store.publish(staged)).rejects.toMatchObject({ kind: 'ConcurrentModification' })
  expect(await readFile(final)).toEqual(other)
})

/** Adds space for a section before the manifest, so that each committer has different content. */
function withSection(file: Buffer, length: number): Buffer {
  const position = Number(file.readBigInt64LE(file.length - 16))
  const longer = Buffer.concat([file.subarray(0, position), Buffer.alloc(length), file.subarray(position)])
  longer.writeBigInt64LE(BigInt(position + length), longer.length - 16)
  return longer
}

it('lets exactly one of many commits of a version win', async () => {
  const { location, stage, read } = await tableWithStaging()
  const requests = []
  for (let committer = 0; committer < 8; committer++) {
    const request = await stage()
    const manifest = withSection(await read(), committer)
    await writeFile(`/${request.manifestPath}`, manifest)
    requests.push({ ...request, manifestSize: manifest.length })
  }
  const outcomes = await Promise.allSettled(
    requests.map(async (request) => store.publish(await store.inspectStaging(location, request))),
  )
  expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
  for (const outcome of outcomes) {
    if (outcome.status === 'rejected') expect(outcome.reason).toMatchObject({ code: 14, status: 409 })
  }
})

it('rejects a different naming scheme than that of earlier versions', async () => {
  const { location, stage } = await tableWithStaging()
  const request = await stage('2.manifest-00000000-0000-4000-8000-000000000000')
  const staged = await store.inspectStaging(location, { ...request, namingScheme: 'V1' })
  await expect(store.publish(staged)).rejects.toThrow(/expected a manifest name of scheme V2/)
})

it('keeps the versions of a branch separate', async () => {
  const { location } = await tableWithStaging()
  expect(await store.list(location, 'dev')).toEqual([])
  for (const branch of ['../other', 'a//b', '/a', 'a/../b', '..', 'a\\b', 'a.lock']) {
    const listed: Promise<readonly ListedVersion[]> = store.list(location, branch)
    await expect(listed).rejects.toMatchObject({ code: 13 })
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
  const watched = openManifestStore(storage)
  const staged = await watched.inspectStaging(location, await stage())
  await watched.publish(staged)
  const name = path.basename(staged.finalPath)
  const removed = `remove ${path.basename(staged.stagingPath)}`
  expect(calls).toEqual([`link ${name}`, `flush ${name}`, 'flush _versions', removed])
})
